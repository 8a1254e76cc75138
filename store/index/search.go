package index

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// gram is up to three letters in a row: 21 bits each, the first one highest. Those of one or two letters begin a word.
type gram uint64

// gramOf packs letters: fewer than three leave zeros behind them.
func gramOf(letters ...rune) (g gram) {
	for i, r := range letters {
		g |= gram(r) << (42 - 21*i)
	}
	return g
}

// gramsOf returns the distinct grams of a row's text. None spans a line feed.
func gramsOf(row *Row) []gram {
	if row == nil {
		return nil
	}
	grams := make([]gram, 0, 2*len(row.Text))
	letters := []rune(row.Text)
	for begin, at := 0, 0; at <= len(letters); at++ {
		if at == len(letters) || letters[at] == '\n' {
			grams = appendGrams(grams, letters[begin:at])
			begin = at + 1
		}
	}
	slices.Sort(grams)
	return slices.Compact(grams)
}

func appendGrams(grams []gram, letters []rune) []gram {
	for i, r := range letters {
		if i+2 < len(letters) {
			grams = append(grams, gramOf(r, letters[i+1], letters[i+2]))
		}
		if i > 0 && !beginsWord(letters[i-1], r) {
			continue
		}
		grams = append(grams, gramOf(r))
		if i+1 < len(letters) {
			grams = append(grams, gramOf(r, letters[i+1]))
		}
	}
	return grams
}

// onlyIn returns what is in a and not in b. Both are sorted: a long text has thousands of grams, and few of them change.
func onlyIn(a, b []gram) (only []gram) {
	for _, g := range a {
		if _, both := slices.BinarySearch(b, g); !both {
			only = append(only, g)
		}
	}
	return only
}

// beginsWord reports whether a word begins at a letter behind another: only between two letters or digits of a script
// with spaces none does.
func beginsWord(before, letter rune) bool {
	if before < unicode.MaxASCII && letter < unicode.MaxASCII { // the usual case, at a tenth of the cost
		return !isASCIIWord(before) || !isASCIIWord(letter)
	}
	return !inWord(before) || !inWord(letter) ||
		unicode.In(letter, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func isASCIIWord(r rune) bool { return '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' }

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// idLetters is how many letters of a search also find an id. The first eight of a UUIDv7 are the same for a minute.
const idLetters = 8

// search is what rows are compared with.
type search struct {
	text  string
	grams []gram // each is in every row that contains text
	whole bool   // the grams are not enough: rows are compared with text
	id    bool   // ids are compared too
}

func newSearch(text string) search {
	letters := []rune(text)
	s := search{text: text, whole: len(letters) > 3, id: len(letters) >= idLetters}
	if len(letters) < 3 {
		s.grams = []gram{gramOf(letters...)}
		return s
	}
	for i := range len(letters) - 2 {
		s.grams = append(s.grams, gramOf(letters[i:i+3]...))
	}
	slices.Sort(s.grams)
	s.grams = slices.Compact(s.grams)
	return s
}

// nothing reports whether no row can fit: it spans fields.
func (s search) nothing() bool {
	return strings.ContainsRune(s.text, '\n') || !utf8.ValidString(s.text)
}

// fits reports whether a row that has all grams, or whose id may fit, is found.
func (s search) fits(row *Row) bool {
	return strings.Contains(row.Text, s.text) || s.id && strings.HasPrefix(row.ID, s.text)
}

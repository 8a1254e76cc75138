package main

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// This file knows the characters that nobody sees. In a name, a tag or an id they turn round or hide what stands beside them, and two that look
// the same are not: a list on the page or a terminal would lie. What writing needs of them is let pass where it is needed.

const (
	joinerNot = '\u200c' // ZERO WIDTH NON-JOINER
	joiner    = '\u200d' // ZERO WIDTH JOINER
	emojiForm = '\ufe0f' // VARIATION SELECTOR-16
	keycap    = '\u20e3'
	blackFlag = '\U0001f3f4'
	tagEnd    = '\U000e007f'
	virama    = 9 // the canonical combining class of what takes a vowel off, in the scripts of India
)

// unseen gives the first character of s that is not seen and not needed where it stands; ok says whether there is one.
func unseen(s string) (r rune, ok bool) {
	text := []rune(s)
	at := func(i int) rune {
		if i < 0 || i >= len(text) {
			return ' '
		}
		return text[i]
	}
	for i := 0; i < len(text); i++ {
		r := text[i]
		before, after := at(i-1), at(i+1)
		switch {
		case r == joinerNot || r == joiner:
			if !joins(before, after) && !(r == joiner && isPicture(before) && isPicture(after)) {
				return r, true
			}
		case unicode.Is(unicode.Variation_Selector, r):
			if !selects(before, r, after) {
				return r, true
			}
		case before == blackFlag && isTag(r): // a flag of a part of a country: letters that nobody sees, and their end
			for i < len(text) && isTag(text[i]) {
				i++
			}
			if at(i) != tagEnd {
				return r, true
			}
		case isHidden(r):
			return r, true
		}
	}
	return 0, false
}

// isHidden says whether a character has no look of its own: format characters (Cf), but those that are seen before numbers, what Unicode
// ignores where it cannot show it, and separators of lines.
func isHidden(r rune) bool {
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// joins says whether ZWJ and ZWNJ mean something between two characters: within a word of a script whose letters join (Persian, Hindi), or
// behind a virama, also at the end of a word. Between letters that stand alone they would only hide.
func joins(before, after rune) bool {
	if norm.NFC.PropertiesString(string(before)).CCC() == virama {
		return true
	}
	inWord := func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.M) &&
			!unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
	}
	return inWord(before) && inWord(after)
}

// isPicture says whether a character can stand in a sequence of emoji.
func isPicture(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.In(r, unicode.So, unicode.Sm, unicode.Sk) || r == emojiForm || r == tagEnd
}

// selects says whether a variation selector has something to vary: an emoji, a symbol, a Chinese character, a Mongolian letter.
func selects(before, r, after rune) bool {
	switch {
	case unicode.Is(unicode.Mongolian, before) || unicode.Is(unicode.Han, before):
		return true
	case r == emojiForm && after == keycap:
		return before >= '0' && before <= '9' || before == '#' || before == '*'
	case unicode.Is(unicode.Variation_Selector, before):
		return false
	}
	return before > unicode.MaxASCII && unicode.In(before, unicode.S, unicode.P, unicode.No) || before == '\u2139' // ℹ is a letter
}

func isTag(r rune) bool { return r >= '\U000e0020' && r <= '\U000e007e' }

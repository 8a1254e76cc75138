package api

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Finds invisible characters in names, tags and ids. They can reverse or hide the text beside them, and make different names look
// alike. Characters that a script needs are allowed where it needs them.

const (
	nonJoiner = '\u200c' // ZERO WIDTH NON-JOINER
	joiner    = '\u200d' // ZERO WIDTH JOINER
	emojiForm = '\ufe0f' // VARIATION SELECTOR-16
	keycap    = '\u20e3'
	blackFlag = '\U0001f3f4'
	tagEnd    = '\U000e007f'
	virama    = 9 // canonical combining class of the sign that removes a vowel in Indic scripts
)

// findIgnorable returns the first invisible character of s that is not needed where it is. ok is false if there is none.
// It reads best as one function: its cases are one table of Unicode's rules, each read with its neighbours.
func findIgnorable(s string) (r rune, ok bool) {
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
		case r == nonJoiner || r == joiner:
			if !joinerAllowed(before, after) && !(r == joiner && isEmoji(before) && isEmoji(after)) {
				return r, true
			}
		case unicode.Is(unicode.Variation_Selector, r):
			if !selectorAllowed(before, r, after) {
				return r, true
			}
		case before == blackFlag && isTagCharacter(r): // flag of a subdivision: a sequence of tag characters (UTS #51)
			for i < len(text) && isTagCharacter(text[i]) {
				i++
			}
			if at(i) != tagEnd {
				return r, true
			}
		case isIgnorable(r):
			return r, true
		}
	}
	return 0, false
}

// isIgnorable reports whether a character has no glyph. Those are format characters (Cf) except prepended marks, default ignorables,
// and line separators.
func isIgnorable(r rune) bool {
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// joinerAllowed reports whether ZWJ or ZWNJ matters between two characters. It does within a word of a joining script such as
// Persian or Hindi, and behind a virama, also at the end of a word. Between other letters it would only hide.
func joinerAllowed(before, after rune) bool {
	if norm.NFC.PropertiesString(string(before)).CCC() == virama {
		return true
	}
	inWord := func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.M) &&
			!unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
	}
	return inWord(before) && inWord(after)
}

// isEmoji reports whether a character can be part of an emoji sequence.
func isEmoji(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.In(r, unicode.So, unicode.Sm, unicode.Sk) || r == emojiForm || r == tagEnd
}

// selectorAllowed reports whether a variation selector has something to vary: an emoji, a symbol, a Chinese character or a Mongolian
// letter.
func selectorAllowed(before, r, after rune) bool {
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

func isTagCharacter(r rune) bool { return r >= '\U000e0020' && r <= '\U000e007e' }

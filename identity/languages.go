package identity

import (
	"slices"

	"golang.org/x/text/language"
)

// Languages returns navigator.languages of a Chrome whose language is tag (Chromium, components_locale_settings,
// IDS_ACCEPT_LANGUAGES). That is usually the tag, its language, and English. Where Chrome has one translation for
// several countries, the tag's country is kept.
func Languages(tag string) []string {
	t, err := language.Parse(tag)
	if err != nil {
		return []string{tag}
	}
	b, _ := t.Base()
	base, english := b.String(), []string{"en-US", "en"}
	switch base {
	case "en":
		return slices.Compact(append([]string{tag}, english...))
	case "ar", "fa", "ja": // without a country
		return append([]string{base}, english...)
	case "bg", "ca", "cs", "el", "es", "th": // without English
		return []string{tag, base}
	case "zh":
		if script, _ := t.Script(); script.String() == "Hans" {
			return []string{tag, base}
		}
	}
	return append([]string{tag, base}, english...)
}

// isSpoken reports whether a language without a region fits a country. It does if it is the country's likely language,
// or if CLDR has a locale of the two, such as fr-CH or en-DE.
func isSpoken(tag language.Tag, country string) bool {
	region, err := language.ParseRegion(country)
	if err != nil {
		return true
	}
	base, _ := tag.Base()
	if likely, err := language.Compose(region); err == nil {
		if b, _ := likely.Base(); b == base {
			return true
		}
	}
	there, err := language.Compose(base, region)
	if err != nil {
		return true
	}
	_, known := language.CompactIndex(there)
	return known
}

package proxy

import "golang.org/x/text/language"

// writtenLanguage overrides CLDR's likely language, which is the spoken one, where another one is written.
// The written language is that of schools, offices and web sites, and so of browsers. The comments hold CLDR's languages.
var writtenLanguage = map[string]string{
	"IN": "en", "PH": "en", "PK": "en", // hi, fil, ur
	"GH": "en", "KE": "en", "RW": "en", "UG": "en", "ZW": "en", "LS": "en", "NA": "en", "MU": "en", // ak, sw, rw, sw, sn, st, af, mfe
	"AS": "en", "PG": "en", "PW": "en", "TK": "en", "TO": "en", "TV": "en", "VU": "en", "WS": "en", // sm, tpi, pau, tkl, to, tvl, bi, sm
	"BI": "fr", "CD": "fr", "DJ": "fr", "HT": "fr", "MG": "fr", "ML": "fr", "NE": "fr", // rn, sw, aa, ht, mg, bm, ha
	"BQ": "nl", "CW": "nl", // pap, pap
	"BY": "ru", // be
	"PY": "es", // gn
}

// localeOf returns a country's likely language with the country, such as "de-DE" or "pt-BR" (BCP 47). The language is that of CLDR's
// likely subtags in golang.org/x/text, or the override. It is "" for an unknown or uninhabited country.
func localeOf(country string) string {
	region, err := language.ParseRegion(country)
	if err != nil || !region.IsCountry() {
		return ""
	}
	base := writtenLanguage[country]
	if base == "" {
		likely, err := language.Compose(region)
		if err != nil {
			return ""
		}
		b, confidence := likely.Base()
		if confidence == language.No {
			return ""
		}
		base = b.String()
	}
	return base + "-" + region.String()
}

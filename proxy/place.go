package proxy

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
)

// Place is the location of an address. Unknown fields are "" or nil.
type Place struct {
	Country             string   // ISO 3166-1 alpha-2, upper case
	CountryName         string   // in English
	Timezone            string   // IANA name
	ZoneOfCountry       bool     // Timezone is derived from the country: most of its people live there
	Latitude, Longitude *float64 // degrees; both or neither
}

// fillFrom returns p with its unknown fields from q.
func (p Place) fillFrom(q Place) Place {
	p.Country = cmp.Or(p.Country, q.Country)
	p.CountryName = cmp.Or(p.CountryName, q.CountryName)
	p.Timezone = cmp.Or(p.Timezone, q.Timezone)
	if p.Latitude == nil {
		p.Latitude, p.Longitude = q.Latitude, q.Longitude
	}
	return p
}

// complete fills in what follows from the country.
func (p Place) complete() Place {
	if p.Country != "" {
		p.CountryName = cmp.Or(p.CountryName, countryName(p.Country))
		if p.Timezone == "" {
			p.Timezone, p.ZoneOfCountry = mainZone(p.Country), true
		}
	}
	return p
}

// parseAnswer reads the answer of an address service: the bare address as text, or a JSON object.
func parseAnswer(body []byte) (netip.Addr, Place, bool) {
	text := strings.TrimSpace(string(body))
	if !strings.HasPrefix(text, "{") {
		a, ok := parseExitIP(text)
		return a, Place{}, ok
	}
	var m map[string]any
	if json.Unmarshal([]byte(text), &m) != nil {
		return netip.Addr{}, Place{}, false
	}
	// ip: ipify, ipinfo, ifconfig.co, ipwho.is; query: ip-api; origin: httpbin; ipAddress: freeipapi; ip_address: Abstract.
	for _, key := range []string{"ip", "query", "origin", "ipAddress", "ip_address", "address"} {
		if a, ok := parseExitIP(str(m[key])); ok {
			return a, placeOf(m), true
		}
	}
	return netip.Addr{}, Place{}, false
}

// parseExitIP reads one address. httpbin lists the addresses of a forwarding header first; the last one is the one it saw.
func parseExitIP(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s[strings.LastIndexByte(s, ',')+1:])
	a, err := netip.ParseAddr(unbracket(s))
	return a.Unmap(), err == nil && a.Zone() == "" && !a.IsUnspecified()
}

// placeOf reads a place from the members of address services and MMDB files, flat ({"country_code":"DE"}) or nested
// ({"country":{"iso_code":"DE","names":{"en":"Germany"}}}). It ignores values of the wrong form.
func placeOf(m map[string]any) (p Place) {
	country, _ := m["country"].(map[string]any)
	names, _ := country["names"].(map[string]any)
	location, _ := m["location"].(map[string]any)
	for _, v := range []any{m["country_code"], m["countryCode"], m["country_iso"], m["country_code2"], m["cc"],
		country["iso_code"], country["code"], m["country"], location["country"]} {
		if p.Country = countryCode(str(v)); p.Country != "" {
			break
		}
	}
	for _, v := range []any{m["country_name"], m["countryName"], names["en"], country["name"], m["country"], location["country"]} {
		if s := printable(str(v)); len(s) > 2 {
			p.CountryName = s
			break
		}
	}
	if p.Country == "" && p.CountryName != "" {
		p.Country = countryOfName(p.CountryName)
	}
	for _, v := range []any{m["timezone"], m["time_zone"], m["timeZone"], location["time_zone"], location["timezone"]} {
		if p.Timezone = timezoneName(v); p.Timezone != "" {
			break
		}
	}
	p.Latitude, p.Longitude = position(m)
	if p.Latitude == nil {
		p.Latitude, p.Longitude = position(location)
	}
	return p
}

func str(v any) string {
	s, _ := v.(string)
	return strings.TrimSpace(s)
}

// printable returns s if it can be shown as a name, else "".
func printable(s string) string {
	if !utf8.ValidString(s) || len(s) > 100 || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return s
}

// countryCode returns s in upper case if it is the code of a country (ISO 3166-1), else "".
func countryCode(s string) string {
	if len(s) != 2 {
		return ""
	}
	r, err := language.ParseRegion(s)
	if err != nil || !r.Canonicalize().IsCountry() { // UK, for one, becomes GB
		return ""
	}
	return r.Canonicalize().String()
}

// zoneForm admits zone names only: a name goes into a browser's environment, where a path would be read as a file.
var zoneForm = regexp.MustCompile(`^[A-Z][A-Za-z_]{1,30}(/[A-Z][A-Za-z0-9_+-]{1,30}){0,2}$`)

// timezoneName reads "Europe/Berlin", or an object with such a name as its id, name or code.
func timezoneName(v any) string {
	if m, ok := v.(map[string]any); ok {
		return cmp.Or(timezoneName(str(m["id"])), timezoneName(str(m["name"])), timezoneName(str(m["code"])))
	}
	if s := str(v); zoneForm.MatchString(s) && (strings.Contains(s, "/") || s == "UTC" || s == "GMT") {
		return s
	}
	return ""
}

// position reads "loc":"52.5,13.4", lat and lon, or latitude and longitude, as numbers or text.
func position(m map[string]any) (lat, lon *float64) {
	if a, b, ok := strings.Cut(str(m["loc"]), ","); ok {
		if lat, lon = degrees(a, 90), degrees(b, 180); lat != nil && lon != nil {
			return lat, lon
		}
	}
	for _, keys := range [][2]string{{"latitude", "longitude"}, {"lat", "lon"}, {"lat", "lng"}} {
		if lat, lon = degrees(m[keys[0]], 90), degrees(m[keys[1]], 180); lat != nil && lon != nil {
			return lat, lon
		}
	}
	return nil, nil
}

func degrees(v any, limit float64) *float64 {
	f, ok := v.(float64)
	if s, isText := v.(string); isText {
		n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		f, ok = n, err == nil
	}
	if !ok || !(f >= -limit && f <= limit) {
		return nil
	}
	return &f
}

// mainZone returns the zone where most of a country's people live, or "". zones.go names the source.
func mainZone(country string) string { return tableEntry(zoneTable, country) }

// countryName returns the English name of a country, or "".
func countryName(country string) string { return tableEntry(nameTable, country) }

// tableEntry returns the rest of the line that begins with the code.
func tableEntry(table, code string) string {
	if i := strings.Index(table, "\n"+code+" "); i >= 0 && len(code) == 2 {
		line, _, _ := strings.Cut(table[i+4:], "\n")
		return line
	}
	return ""
}

// countryOfName returns the code of the country with an English name, or "".
func countryOfName(name string) string {
	for line := range strings.Lines(nameTable) {
		if len(line) > 3 && strings.EqualFold(strings.TrimSuffix(line[3:], "\n"), name) {
			return line[:2]
		}
	}
	return ""
}

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

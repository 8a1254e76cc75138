package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The answers of common services, as their documentation shows them (shortened), are read.
func TestServicesAnswers(t *testing.T) {
	for service, tc := range map[string]struct{ body, want string }{
		"ipify":   {`{"ip":"203.0.113.9"}`, "203.0.113.9    "},
		"httpbin": {`{"origin": "198.51.100.1, 203.0.113.9"}`, "203.0.113.9    "},
		"ipinfo": {`{"ip":"203.0.113.9","hostname":"x","city":"Mountain View","region":"California","country":"US",` +
			`"loc":"37.4056,-122.0775","org":"AS1 X","postal":"94043","timezone":"America/Los_Angeles"}`,
			"203.0.113.9 US United States America/Los_Angeles 37.4056,-122.0775"},
		"ipinfo lite": {`{"ip":"203.0.113.9","asn":"AS1","country_code":"US","country":"United States","continent_code":"NA"}`,
			"203.0.113.9 US United States America/New_York "},
		"ip-api": {`{"query":"203.0.113.9","status":"success","country":"Canada","countryCode":"CA","lat":45.6,"lon":-73.6,` +
			`"timezone":"America/Toronto"}`,
			"203.0.113.9 CA Canada America/Toronto 45.6,-73.6"},
		"ipapi.co": {`{"ip":"203.0.113.9","version":"IPv4","country":"BR","country_name":"Brazil","country_code":"BR",` +
			`"country_code_iso3":"BRA","latitude":-23.5,"longitude":-46.6,"timezone":"America/Sao_Paulo","utc_offset":"-0300"}`,
			"203.0.113.9 BR Brazil America/Sao_Paulo -23.5,-46.6"},
		"ipwho.is": {`{"ip":"203.0.113.9","success":true,"country":"Norway","country_code":"NO","latitude":59.9,"longitude":10.7,` +
			`"timezone":{"id":"Europe/Oslo","abbr":"CET","offset":3600}}`,
			"203.0.113.9 NO Norway Europe/Oslo 59.9,10.7"},
		"ifconfig.co": {`{"ip":"203.0.113.9","ip_decimal":3405803785,"country":"Germany","country_iso":"DE","latitude":51.2,` +
			`"longitude":9.4,"time_zone":"Europe/Berlin"}`,
			"203.0.113.9 DE Germany Europe/Berlin 51.2,9.4"},
		"myip": {`{"ip":"203.0.113.9","country":"Taiwan","cc":"TW"}`, "203.0.113.9 TW Taiwan Asia/Taipei "},
		"ipgeo": {`{"ip":"203.0.113.9","country_code2":"IN","country_name":"India","latitude":"28.6","longitude":"77.2",` +
			`"time_zone":{"name":"Asia/Kolkata","offset":5.5}}`,
			"203.0.113.9 IN India Asia/Kolkata 28.6,77.2"},
		"freeipapi": {`{"ipVersion":4,"ipAddress":"203.0.113.9","latitude":52.3,"longitude":4.9,"countryName":"Netherlands",` +
			`"countryCode":"NL","timeZone":"+01:00"}`,
			"203.0.113.9 NL Netherlands Europe/Amsterdam 52.3,4.9"},
		"ip.guide": {`{"ip":"203.0.113.9","location":{"city":"Paris","country":"France","timezone":"Europe/Paris","latitude":48.9,` +
			`"longitude":2.3}}`,
			"203.0.113.9 FR France Europe/Paris 48.9,2.3"},
		"name alone": {`{"ip":"203.0.113.9","country":"united kingdom"}`, "203.0.113.9 GB united kingdom Europe/London "},
		"UK":         {`{"ip":"203.0.113.9","country":"uk"}`, "203.0.113.9 GB United Kingdom Europe/London "},
		"a v6":       {`{"ip":"2001:db8::9","country":"se"}`, "2001:db8::9 SE Sweden Europe/Stockholm "},
		"geojs": {`{"ip":"203.0.113.9","country":"Poland","country_code":"PL","latitude":"52.2","longitude":"21.0",` +
			`"timezone":"Europe\/Warsaw"}`,
			"203.0.113.9 PL Poland Europe/Warsaw 52.2,21"},
	} {
		exit, place, ok := parseAnswer([]byte(tc.body))
		place = place.complete()
		if got := strings.Join([]string{exit.String(), place.Country, place.CountryName, place.Timezone, where(place)}, " "); !ok ||
			got != tc.want {
			t.Errorf("%s: got %q, want %q", service, got, tc.want)
		}
		if inAnswer := strings.Contains(strings.ReplaceAll(tc.body, `\/`, "/"), `"`+place.Timezone+`"`); place.ZoneOfCountry == inAnswer &&
			place.Timezone != "" {
			t.Errorf("%s: the zone is in the answer %v, and marked as the country's %v", service, inAnswer, place.ZoneOfCountry)
		}
	}
}

func where(p Place) string {
	if p.Latitude == nil || p.Longitude == nil {
		return ""
	}
	return fmt.Sprintf("%v,%v", *p.Latitude, *p.Longitude)
}

// Values of the wrong form are ignored: a zone, for one, becomes a variable in a browser's environment.
func TestHostileAnswers(t *testing.T) {
	for _, members := range []string{
		`"country":"XX"`, `"country":"ZZ"`, `"country":"EU"`, `"country":"T1"`, `"country":"../"`, `"country":"\u0000\u0000"`,
		`"country":42`, `"country":null`, `"country":["DE"]`,
		`"country":{"iso_code":7}`, `"country":"D"`, `"country_code":"DEU"`, `"cc":"💥"`,
		`"timezone":"../../etc/passwd"`, `"timezone":":/etc/passwd"`, `"timezone":"/etc/localtime"`, `"timezone":"Europe/../x"`,
		`"timezone":"Europe/Berlin\nX=y"`, `"timezone":"Europe Berlin"`,
		`"timezone":{"id":"a/b/c/d/e"}`, `"timezone":"` + strings.Repeat("A/", 50) + `"`, `"timezone":7200`, `"timezone":"+01:00"`,
		`"timezone":"CET"`, `"timezone":"posix/Europe/Berlin"`,
		`"loc":"91,0"`, `"loc":"0,181"`, `"loc":"a,b"`, `"loc":"1"`, `"loc":"NaN,NaN"`, `"lat":1`, `"lat":"1e999","lon":2`,
		`"lat":true,"lon":false`, `"latitude":-90.01,"longitude":0`, `"loc":"Inf,0"`,
	} {
		_, place, ok := parseAnswer([]byte(`{"ip":"203.0.113.9",` + members + `}`))
		place.CountryName = ""
		if !ok || place != (Place{}) {
			t.Errorf("%s: got %v %+v, want nothing but the address", members, ok, place)
		}
	}
	for _, name := range []string{"a\nb", "a\x00b", strings.Repeat("x", 200), "\u202egnp"} {
		_, place, _ := parseAnswer(fmt.Appendf(nil, `{"ip":"203.0.113.9","country_name":%q}`, name))
		if place.CountryName != "" {
			t.Errorf("%q was taken as a name", name)
		}
	}
}

func TestLocale(t *testing.T) {
	for country, want := range map[string]string{
		"DE": "de-DE", "BR": "pt-BR", "TW": "zh-TW", "NO": "nb-NO", "US": "en-US", "GB": "en-GB", "FR": "fr-FR", "JP": "ja-JP",
		"CN": "zh-CN", "HK": "zh-HK", "KR": "ko-KR",
		"AT": "de-AT", "CH": "de-CH", "MX": "es-MX", "UA": "uk-UA", "RU": "ru-RU", "TR": "tr-TR", "IL": "he-IL", "ID": "id-ID",
		"VN": "vi-VN", "NL": "nl-NL", "BE": "nl-BE", "KZ": "ru-KZ",
		"IN": "en-IN", "PH": "en-PH", "PY": "es-PY", "CD": "fr-CD", "AQ": "", "": "", "XX": "", "ZZ": "",
	} {
		if got := localeOf(country); got != want {
			t.Errorf("%q: got %q, want %q", country, got, want)
		}
	}
}

func TestZoneTable(t *testing.T) {
	for country, want := range map[string]string{
		"DE": "Europe/Berlin", "NL": "Europe/Amsterdam", "US": "America/New_York", "GB": "Europe/London", "IN": "Asia/Kolkata",
		"ZW": "Africa/Harare", "AD": "Europe/Andorra",
		"BR": "America/Sao_Paulo", "RU": "Europe/Moscow", "AU": "Australia/Sydney", "CA": "America/Toronto", "MX": "America/Mexico_City",
		"AR": "America/Argentina/Buenos_Aires",
		"ID": "Asia/Jakarta", "KZ": "Asia/Almaty", "MN": "Asia/Ulaanbaatar", "CD": "Africa/Kinshasa", "GL": "America/Nuuk",
		"PS": "Asia/Hebron", "FM": "Pacific/Chuuk", "KI": "Pacific/Tarawa",
		// CLDR's primaryZones:
		"CL": "America/Santiago", "CN": "Asia/Shanghai", "EC": "America/Guayaquil", "ES": "Europe/Madrid", "MH": "Pacific/Majuro",
		"MY": "Asia/Kuala_Lumpur", "NZ": "Pacific/Auckland",
		"PT": "Europe/Lisbon", "UA": "Europe/Kyiv", "UZ": "Asia/Tashkent",
		"": "", "D": "", "XX": "", "DE ": "", "\nD": "",
	} {
		if got := mainZone(country); got != want {
			t.Errorf("%q: got %q, want %q", country, got, want)
		}
	}
	lines := strings.Split(strings.TrimSpace(zoneTable), "\n")
	if len(lines) < 240 {
		t.Errorf("got %d countries, want at least 240", len(lines))
	}
	for _, line := range lines {
		country, name, _ := strings.Cut(line, " ")
		if strings.Count(zoneTable, "\n"+country+" ") != 1 {
			t.Errorf("%s has more than one line", country)
		}
		if countryName(country) == "" || timezoneName(name) != name {
			t.Errorf("line %q is not a country and a zone", line)
		}
		if _, err := time.LoadLocation(name); err != nil {
			t.Errorf("%s: %v", country, err)
		}
	}
}

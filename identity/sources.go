package identity

import "github.com/go-json-experiment/json"

// Sources says where the stored settings of a profile are from: their names in the API, each with FromProfile,
// FromTemplate or FromWorkspace. A setting that is not there has the server's default.
type Sources map[string]string

// others stands for every setting that Sources do not name.
const others = "*"

// ReadSources reads what Text has written. "" is of profiles that are older than sources: their settings are their own.
func ReadSources(text string) Sources {
	s := Sources{}
	if text == "" || json.Unmarshal([]byte(text), &s) != nil {
		return Sources{others: FromProfile}
	}
	return s
}

// Of returns the source of a setting.
func (s Sources) Of(setting string) string {
	for _, name := range []string{setting, others} {
		if source := s[name]; source != "" {
			return source
		}
	}
	return ByDefault
}

// Set records the source of a setting.
func (s Sources) Set(setting, source string) {
	if source == ByDefault && s[others] == "" {
		delete(s, setting)
		return
	}
	s[setting] = source
}

// Text returns the sources for the database.
func (s Sources) Text() string {
	b, err := json.Marshal(map[string]string(s), json.Deterministic(true))
	if err != nil { // names and words
		return ""
	}
	return string(b)
}

// attribute names the source of each setting that is declared.
func (r *Resolution) attribute(from Sources) {
	if from == nil {
		return
	}
	s := &r.Settings
	for name, setting := range map[string]*Setting{"os": &s.OS, "browserVersion": &s.BrowserVersion, "timezone": &s.Timezone,
		"locale": &s.Locale, "geolocation": &s.Geolocation, "screen": &s.Screen, "webrtc": &s.WebRTC} {
		if setting.Source == FromProfile {
			setting.Source = from.Of(name)
		}
	}
}

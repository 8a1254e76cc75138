package browser

import "strings"

// headers returns the request headers of the hints, by their names in lower case (https://wicg.github.io/ua-client-hints/, 3).
func (h hints) headers() map[string]string {
	quoted := func(s string) string { return `"` + s + `"` }
	truth := func(b bool) string {
		if b {
			return "?1"
		}
		return "?0"
	}
	return map[string]string{
		"sec-ch-ua":                   brandHeader(h.Brands),
		"sec-ch-ua-mobile":            truth(h.Mobile),
		"sec-ch-ua-platform":          quoted(h.Platform),
		"sec-ch-ua-platform-version":  quoted(h.PlatformVersion),
		"sec-ch-ua-arch":              quoted(h.Architecture),
		"sec-ch-ua-bitness":           quoted(h.Bitness),
		"sec-ch-ua-model":             quoted(h.Model),
		"sec-ch-ua-full-version":      quoted(h.FullVersion),
		"sec-ch-ua-full-version-list": brandHeader(h.FullVersionList),
		"sec-ch-ua-wow64":             truth(h.Wow64),
		"sec-ch-ua-form-factors":      quoted(strings.Join(h.FormFactors, `", "`)),
	}
}

// brandHeader returns brands as a structured header (RFC 8941).
func brandHeader(brands []brand) string {
	items := make([]string, len(brands))
	for i, b := range brands {
		items[i] = `"` + b.Brand + `";v="` + b.Version + `"`
	}
	return strings.Join(items, ", ")
}

// header is Fetch.HeaderEntry (CDP).
type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// hintRewriter replaces the browser's own client hints in requests by the identity's. The first request of a tab without an opener, or of a
// restored one, leaves before a session can override it.
type hintRewriter struct {
	userAgent     string
	own, declared map[string]string
}

func newHintRewriter(own, told agent) *hintRewriter {
	return &hintRewriter{userAgent: told.userAgent, own: own.hints.headers(), declared: told.hints.headers()}
}

// rewrite returns the corrected headers of a request, nil if they are right. It leaves alone what a client of the gateway has set: such a
// request has another user agent, or hints that are not the browser's own.
func (c *hintRewriter) rewrite(headers map[string]string) []header {
	wrong := false
	out := make([]header, 0, len(headers))
	for name, value := range headers {
		lower := strings.ToLower(name)
		if lower == "user-agent" && value != c.userAgent {
			return nil
		}
		if told, isHint := c.declared[lower]; isHint && value != told && (value == c.own[lower] || value == "" || value == `""`) {
			value, wrong = told, true
		}
		out = append(out, header{name, value})
	}
	if !wrong {
		return nil
	}
	return out
}

package browser

import (
	"encoding/json"
	"strings"
	"time"
)

// This file gives first requests their client hints. A tab without an opener sends its first request before anybody can be attached to it, and a
// restored one too (restored.go): it carries the browser's own hints, or empty ones. So document requests, and no others, are looked at on their way
// out (Fetch.enable on the browser's own session, which is the last before the network).

// headers are the request headers of hints by their names in lower case (https://wicg.github.io/ua-client-hints/, 3).
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

// brandHeader writes brands as a structured header (RFC 8941).
func brandHeader(brands []brand) string {
	items := make([]string, len(brands))
	for i, b := range brands {
		items[i] = `"` + b.Brand + `";v="` + b.Version + `"`
	}
	return strings.Join(items, ", ")
}

// header is one of CDP's Fetch.HeaderEntry.
type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// corrector puts the identity's hints into requests that carry the browser's own.
type corrector struct {
	userAgent string
	own, told map[string]string
}

func newCorrector(own, told agent) *corrector {
	return &corrector{userAgent: told.userAgent, own: own.hints.headers(), told: told.hints.headers()}
}

// correct returns the headers of a request as they are to be, nil when they are right. What a client of the gateway has set is left alone: then the
// user agent is not the profile's, or the hints are nobody's own.
func (c *corrector) correct(headers map[string]string) []header {
	wrong := false
	out := make([]header, 0, len(headers))
	for name, value := range headers {
		lower := strings.ToLower(name)
		if lower == "user-agent" && value != c.userAgent {
			return nil
		}
		if told, isHint := c.told[lower]; isHint && value != told && (value == c.own[lower] || value == "" || value == `""`) {
			value, wrong = told, true
		}
		out = append(out, header{name, value})
	}
	if !wrong {
		return nil
	}
	return out
}

// pausedRequest is what is read of CDP's Fetch.requestPaused.
type pausedRequest struct {
	ID      string `json:"requestId"`
	Frame   string `json:"frameId"`
	Request struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	} `json:"request"`
}

// paused is called on the reading goroutine for each document request. It goes on at once, or when the clients' sessions are there that are on their way.
func (o *owner) paused(params []byte) {
	var p pausedRequest
	if err := json.Unmarshal(params, &p); err != nil {
		o.mux.log.Warn("a paused request cannot be read", "error", err)
	}
	if isFile(p.Request.URL) { // clients' sessions end before the request is let go
		if o.mux.shutOut(p.Frame, false); o.closes(p.Request.URL) {
			o.mux.send("", "Fetch.failRequest", map[string]any{"requestId": p.ID, "errorReason": "BlockedByClient"}, nil)
			return
		}
	}
	if o.looked(p.Frame, p.Request.Method) {
		o.mux.send("", "Fetch.failRequest", map[string]any{"requestId": p.ID, "errorReason": "Aborted"}, nil) // the page stays where it is
		return
	}
	over := o.joins.over()
	if over == nil {
		o.letGo(p)
		return
	}
	o.mux.log.Debug("a document waits until clients' sessions are there", "frame", p.Frame)
	go func() {
		timer := time.NewTimer(o.joins.limit / 4)
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
		}
		o.letGo(p)
	}()
}

// letGo lets a document request go on, with the identity's hints.
func (o *owner) letGo(p pausedRequest) {
	asItIs := map[string]any{"requestId": p.ID}
	var headers []header
	if o.emulation.corrector != nil {
		headers = o.emulation.corrector.correct(p.Request.Headers)
	}
	if headers == nil {
		o.mux.send("", "Fetch.continueRequest", asItIs, nil)
		return
	}
	o.mux.send("", "Fetch.continueRequest", map[string]any{"requestId": p.ID, "headers": headers}, func(a answer) {
		if err := a.err(); err != nil && a.lost == nil { // a page that waits for ever is worse than a wrong hint
			o.mux.log.Warn("a request kept its hints", "error", err)
			o.mux.send("", "Fetch.continueRequest", asItIs, nil)
		}
	})
}

package browser

import (
	"encoding/base64"
	"encoding/json"
)

// Visits origins without a request: a page that clients and people do not see gets an empty document from here in place of the site's.
// Scripts of ours then reach the storage of that origin (HTML, 12.2; IndexedDB 3.0).

// visits are the pages that visit origins. mux.mu guards them.
type visits struct {
	address string            // of their blank pages, which nobody else knows
	origins map[string]string // by target: the origin that it visits
}

// visitDocument is the answer to every visit. Chrome does not remember a page in its history that was not found.
func visitDocument(request string) any {
	return map[string]any{"requestId": request, "responseCode": 404,
		"responseHeaders": []header{{"Content-Type", "text/html"}, {"Cache-Control", "no-store"}},
		"body":            base64.StdEncoding.EncodeToString([]byte("<!doctype html><title></title><link rel=icon href='data:,'>-"))}
}

// isVisit reports whether a target visits origins, or is about to.
func (m *mux) isVisit(t TargetInfo) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.visits.origins[t.TargetID]
	if !known && m.visits.address != "" && t.URL == m.visits.address {
		m.visits.origins[t.TargetID] = ""
		known = true
	}
	return known
}

// onRequestPaused is called for every paused request (CDP Fetch.requestPaused), on the root session (nil) or on a visit's.
func (m *mux) onRequestPaused(s *session, params []byte) {
	if s == nil {
		m.controller.onRequestPaused(params)
	} else {
		m.onVisitRequest(s, params)
	}
}

// onVisitRequest answers the request of a visit. Any request but that for the origin's document fails.
func (m *mux) onVisitRequest(s *session, params []byte) {
	var p pausedRequest
	if json.Unmarshal(params, &p) != nil {
		return
	}
	m.mu.Lock()
	origin := m.visits.origins[s.target]
	m.mu.Unlock()
	if origin == "" || p.Request.URL != origin+"/" {
		m.send(s.id, "Fetch.failRequest", map[string]any{"requestId": p.ID, "errorReason": "BlockedByClient"}, nil)
		return
	}
	m.send(s.id, "Fetch.fulfillRequest", visitDocument(p.ID), nil)
}

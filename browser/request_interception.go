package browser

import (
	"encoding/json"
	"time"
)

// pausedRequest is what is read of Fetch.requestPaused (CDP).
type pausedRequest struct {
	ID      string `json:"requestId"`
	Frame   string `json:"frameId"`
	Request struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	} `json:"request"`
}

// onRequestPaused is called on the reading goroutine for each document request. The request continues when no client's session is being
// attached.
func (ctl *controller) onRequestPaused(params []byte) {
	var p pausedRequest
	if err := json.Unmarshal(params, &p); err != nil {
		ctl.mux.log.Warn("a paused request cannot be read", "error", err)
	}
	if isFile(p.Request.URL) { // clients' sessions end before the request continues
		if ctl.mux.block(p.Frame, false); ctl.shouldClose(p.Request.URL) {
			ctl.mux.send("", "Fetch.failRequest", map[string]any{"requestId": p.ID, "errorReason": "BlockedByClient"}, nil)
			return
		}
	}
	if ctl.onDocumentRequest(p.Frame, p.Request.Method) {
		// the page stays where it is
		ctl.mux.send("", "Fetch.failRequest", map[string]any{"requestId": p.ID, "errorReason": "Aborted"}, nil)
		return
	}
	over := ctl.attaching.pending()
	if over == nil {
		ctl.continueRequest(p)
		return
	}
	ctl.mux.log.Debug("a document waits until clients' sessions are there", "frame", p.Frame)
	go func() {
		select {
		case <-over:
		case <-time.After(ctl.attaching.limit / 4):
		}
		ctl.continueRequest(p)
	}()
}

// continueRequest continues a document request with the identity's client hints.
func (ctl *controller) continueRequest(p pausedRequest) {
	asItIs := map[string]any{"requestId": p.ID}
	var headers []header
	if ctl.emulation.hints != nil {
		headers = ctl.emulation.hints.rewrite(p.Request.Headers)
	}
	if headers == nil {
		ctl.mux.send("", "Fetch.continueRequest", asItIs, nil)
		return
	}
	ctl.mux.send("", "Fetch.continueRequest", map[string]any{"requestId": p.ID, "headers": headers}, func(a answer) {
		if err := a.err(); err != nil && a.lost == nil { // a wrong hint is better than a page that waits forever
			ctl.mux.log.Warn("a request kept its hints", "error", err)
			ctl.mux.send("", "Fetch.continueRequest", asItIs, nil)
		}
	})
}

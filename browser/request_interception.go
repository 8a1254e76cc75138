package browser

import (
	"encoding/json"
	"time"
)

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

// onRequestPaused is called on the reading goroutine for each document request. It goes on at once, or when the clients' sessions are there that are on their way.
func (o *controller) onRequestPaused(params []byte) {
	var p pausedRequest
	if err := json.Unmarshal(params, &p); err != nil {
		o.mux.log.Warn("a paused request cannot be read", "error", err)
	}
	if isFile(p.Request.URL) { // clients' sessions end before the request is let go
		if o.mux.block(p.Frame, false); o.shouldClose(p.Request.URL) {
			o.mux.send("", "Fetch.failRequest", map[string]any{"requestId": p.ID, "errorReason": "BlockedByClient"}, nil)
			return
		}
	}
	if o.onDocumentRequest(p.Frame, p.Request.Method) {
		o.mux.send("", "Fetch.failRequest", map[string]any{"requestId": p.ID, "errorReason": "Aborted"}, nil) // the page stays where it is
		return
	}
	over := o.attaching.pending()
	if over == nil {
		o.continueRequest(p)
		return
	}
	o.mux.log.Debug("a document waits until clients' sessions are there", "frame", p.Frame)
	go func() {
		timer := time.NewTimer(o.attaching.limit / 4)
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
		}
		o.continueRequest(p)
	}()
}

// continueRequest lets a document request go on, with the identity's hints.
func (o *controller) continueRequest(p pausedRequest) {
	asItIs := map[string]any{"requestId": p.ID}
	var headers []header
	if o.emulation.hints != nil {
		headers = o.emulation.hints.rewrite(p.Request.Headers)
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

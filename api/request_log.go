package api

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
)

// Logs requests: at info each change and each refusal, above each failure, at debug every request. A line has neither the
// path nor the query nor a member of the body: each of them may hold a secret or a page's address.

// A refusal costs the client nothing, so the log takes one a second, and a minute's worth at once. Others are counted.
const (
	refusalsLogged = 1 // a second
	refusalsAtOnce = 60
)

// logRequest writes the line of a request that has ended.
func (s *API) logRequest(req *request) {
	ctx, status := context.Background(), req.answer.status
	if status == 0 && req.answer.begun {
		status = http.StatusOK
	}
	s.countAnswer(status)
	level, message := slog.LevelDebug, "request"
	var leftOut int64
	_, _, logged := req.found.all()
	switch {
	case status >= 500 && logged: // its line has the cause
	case status >= 500: // without a cause it is a proxy's or a browser's fault, not the server's
		level, message = slog.LevelWarn, "request failed"
	case isRefusal(status):
		message = "request refused"
		if before, ok := s.refusalLines.Allow(); ok {
			level, leftOut = slog.LevelInfo, before
		}
	case req.madeChange(status):
		level, message = slog.LevelInfo, "request changed something"
	}
	if !s.log.Enabled(ctx, level) {
		return
	}
	attrs := req.attributes(status)
	if message == "request refused" {
		attrs = append(attrs, slog.String("address", s.clientIP(req.http)))
	}
	if leftOut > 0 {
		attrs = append(attrs, slog.Int64("leftOut", leftOut))
	}
	s.log.LogAttrs(ctx, level, message, attrs...)
}

// isRefusal reports whether a status refuses a client, rather than what it sent.
func isRefusal(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMisdirectedRequest, http.StatusTooManyRequests:
		return true
	}
	return false
}

// madeChange reports whether a request that ended with a status may have changed something.
func (r *request) madeChange(status int) bool {
	asks := slices.Contains([]string{"checkUnsavedProxy", "createTicket"}, r.api.operations[r.route])
	return status >= 200 && status < 300 && !isRead(r.http) && !asks && !r.unchanged &&
		r.answer.Header().Get("Idempotency-Replayed") == "" && r.http.URL.Query().Get("dryRun") != "true"
}

// logLeftOut says how many refusals the log left out since it last said so.
func (s *API) logLeftOut() {
	if n := s.refusalLines.LeftOut(); n > 0 {
		s.log.Info("refused requests were left out of the log", "leftOut", n)
	}
}

// Requests returns how many answers were sent, by the class of their status: 2xx, 4xx.
func (s *API) Requests() map[string]int64 {
	out := map[string]int64{}
	for class := 1; class < len(s.answered); class++ {
		out[strconv.Itoa(class)+"xx"] = s.answered[class].Load()
	}
	return out
}

// countAnswer counts an answer by its status. An answer that never began is none.
func (s *API) countAnswer(status int) {
	if class := status / 100; class > 0 && class < len(s.answered) {
		s.answered[class].Add(1)
	}
}

package api

import (
	"net/http"

	"github.com/go-json-experiment/json"
)

// Writes answers.

// writeJSON sends v as JSON with the status. A HEAD request gets the header alone.
func writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) error {
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body) //nolint:errcheck // the client may have disconnected
	}
	return nil
}

// answerWriter is a ResponseWriter that records whether the answer has begun, and its status.
type answerWriter struct {
	http.ResponseWriter
	begun  bool
	status int // 0: none was set; an answer that has begun is then 200
}

func (w *answerWriter) WriteHeader(status int) {
	w.begun, w.status = true, status
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController access to the connection.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

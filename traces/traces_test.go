package traces

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"warren/tally"
)

// TestSpans: a collector over OTLP/HTTP gets the span of a start with its parts, and what the environment says of it.
func TestSpans(t *testing.T) {
	var mu sync.Mutex
	spans, header, service := map[string]*otlp.Span{}, http.Header{}, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
			t.Errorf("%s: %v %q", r.URL, err, body)
		}
		mu.Lock()
		defer mu.Unlock()
		header = r.Header
		for _, from := range sent.ResourceSpans {
			for _, a := range from.Resource.Attributes {
				if a.Key == "service.name" {
					service = a.Value.GetStringValue()
				}
			}
			for _, scope := range from.ScopeSpans {
				for _, s := range scope.Spans {
					spans[s.Name] = s
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	if Wanted() {
		t.Error("traces are on without a collector")
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-token=t1")
	if !Wanted() {
		t.Error("traces are off")
	}
	r, err := Open(t.Context(), "v1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-3 * time.Second)
	r.Record(tally.Span{Name: "start", Result: "browser_failed", Failed: true, Began: began, Took: 3 * time.Second,
		Parts: []tally.Part{{Name: "plan", Took: time.Second}, {Name: "launch", Took: 2 * time.Second}}})
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	start, launch := spans["start"], spans["start.launch"]
	if len(spans) != 3 || start == nil || launch == nil || service != "warren" || header.Get("X-Token") != "t1" {
		t.Fatalf("%v of %q, %v", spans, service, header)
	}
	if start.Status.GetCode() != otlp.Status_STATUS_CODE_ERROR || start.Attributes[0].Value.GetStringValue() != "browser_failed" ||
		start.EndTimeUnixNano-start.StartTimeUnixNano != uint64(3*time.Second) || len(start.Attributes) != 1 {
		t.Errorf("%+v", start)
	}
	if string(launch.ParentSpanId) != string(start.SpanId) || string(launch.TraceId) != string(start.TraceId) ||
		launch.StartTimeUnixNano != uint64(began.Add(time.Second).UnixNano()) || launch.EndTimeUnixNano != start.EndTimeUnixNano {
		t.Errorf("%+v in %+v", launch, start)
	}
}

// TestNoCollector: a collector that is not there stops nothing, and the log says it once.
func TestNoCollector(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1/v1/traces")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "200")
	var log strings.Builder
	r, err := Open(t.Context(), "v1", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		r.Record(tally.Span{Name: "write", Result: "ok", Began: time.Now(), Took: time.Millisecond})
	}
	err = r.Close(t.Context())
	if n := strings.Count(log.String(), "spans could not be sent"); n > 1 || n == 0 && err == nil {
		t.Errorf("%v: %d lines: %s", err, n, log.String())
	}
}

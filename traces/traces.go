// Package traces sends spans of what has ended to an OpenTelemetry collector, over OTLP/HTTP.
package traces

import (
	"context"
	"log/slog"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"warren/logs"
	"warren/tally"
)

// Recorder sends spans. It implements tally.Spans.
type Recorder struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Wanted reports whether the environment names a collector (OpenTelemetry Protocol Exporter, Endpoint Urls for OTLP/HTTP).
func Wanted() bool {
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Open connects to the collector that the environment names. The collector need not be there: spans that cannot be sent are
// dropped, which the log says now and then.
func Open(ctx context.Context, version string, log *slog.Logger) (*Recorder, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "warren"), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	seldom := logs.NewBounded(1.0/60, 1)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if _, ok := seldom.Allow(); ok {
			log.Warn("spans could not be sent", "cause", err)
		}
	}))
	p := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return &Recorder{p, p.Tracer("warren")}, nil
}

// Record sends the span of what has ended just now. It never waits: if too many spans wait, this one is dropped.
func (r *Recorder) Record(s tally.Span) {
	ctx, span := r.tracer.Start(context.Background(), s.Name, trace.WithTimestamp(s.Began),
		trace.WithAttributes(attribute.String("warren.result", s.Result)))
	if s.Failed {
		span.SetStatus(codes.Error, s.Result)
	}
	at := s.Began
	for _, part := range s.Parts {
		_, child := r.tracer.Start(ctx, s.Name+"."+part.Name, trace.WithTimestamp(at))
		at = at.Add(part.Took)
		child.End(trace.WithTimestamp(at))
	}
	span.End(trace.WithTimestamp(s.Began.Add(s.Took)))
}

// Close sends the spans that wait, until ctx ends.
func (r *Recorder) Close(ctx context.Context) error { return r.provider.Shutdown(ctx) }

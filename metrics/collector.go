package metrics

import (
	"maps"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"

	"warren/events"
	"warren/pool"
	"warren/runs"
	"warren/store"
	"warren/tally"
)

// reading is what the sources say at one time.
type reading struct {
	runs      runs.Figures
	pool      pool.Figures
	store     store.Figures
	events    events.Figures
	requests  map[string]int64
	kept      Kept
	resources Resources
	kernel    bool // resources are the kernel's
	backup    time.Time
}

// metric is one metric with its values. A metric without a label has one value, whose label is "".
type metric struct {
	name, help, label string
	kind              dto.MetricType
	values            func(*reading) map[string]float64
	histograms        func(*reading) map[string]tally.Durations // in place of kind and values
}

// collector turns a reading of the sources into families of metrics. It makes them itself: a registry would check each metric against its
// description at each scrape, which takes longer than the rest. A test has a registry's checks instead.
type collector struct {
	s       Sources
	metrics []metric
	build   *dto.MetricFamily
}

func newCollector(s Sources) *collector {
	build := newFamily("warren_build_info", "The program that serves; its value is 1.", dto.MetricType_GAUGE)
	one := value(dto.MetricType_GAUGE, 1)
	for _, name := range []string{"commit", "go", "version"} {
		one.Label = append(one.Label, label(name, s.Version[name]))
	}
	build.Metric = []*dto.Metric{one}
	return &collector{s: s, metrics: table(), build: build}
}

// Gather implements prometheus.Gatherer.
func (c *collector) Gather() ([]*dto.MetricFamily, error) {
	r := c.read()
	all := make([]*dto.MetricFamily, 0, len(c.metrics)+1)
	for i := range c.metrics {
		if f := c.metrics[i].family(r); len(f.Metric) > 0 {
			all = append(all, f)
		}
	}
	return append(all, c.build), nil
}

// family returns a metric with its values of now, in the order of its label.
func (m *metric) family(r *reading) *dto.MetricFamily {
	if m.histograms != nil {
		return fill(newFamily(m.name, m.help, dto.MetricType_HISTOGRAM), m.label, m.histograms(r), histogramOf)
	}
	return fill(newFamily(m.name, m.help, m.kind), m.label, m.values(r), func(v float64) *dto.Metric { return value(m.kind, v) })
}

func fill[V any](f *dto.MetricFamily, by string, values map[string]V, metric func(V) *dto.Metric) *dto.MetricFamily {
	for _, word := range slices.Sorted(maps.Keys(values)) {
		one := metric(values[word])
		if by != "" {
			one.Label = []*dto.LabelPair{label(by, word)}
		}
		f.Metric = append(f.Metric, one)
	}
	return f
}

func newFamily(name, help string, kind dto.MetricType) *dto.MetricFamily {
	return &dto.MetricFamily{Name: &name, Help: &help, Type: &kind}
}

func label(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

func value(kind dto.MetricType, v float64) *dto.Metric {
	if kind == dto.MetricType_COUNTER {
		return &dto.Metric{Counter: &dto.Counter{Value: &v}}
	}
	return &dto.Metric{Gauge: &dto.Gauge{Value: &v}}
}

func histogramOf(d tally.Durations) *dto.Metric {
	h := &dto.Histogram{SampleCount: &d.Count, SampleSum: &d.Sum}
	for _, bound := range slices.Sorted(maps.Keys(d.Buckets)) {
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &bound, CumulativeCount: new(d.Buckets[bound])})
	}
	return &dto.Metric{Histogram: h}
}

func (c *collector) read() *reading {
	s := &c.s
	r := &reading{runs: s.Runs.Figures(), pool: s.Pool.Figures(), store: s.Store.Figures(), events: s.Events.Figures(),
		requests: s.Server.Requests(), kept: s.Server.Kept(), backup: s.Server.BackedUp()}
	if r.resources, r.kernel = s.Server.Resources(); !r.kernel {
		t := r.runs.Totals
		r.resources = Resources{CPU: float64(t.CPUMs) / 1000, Memory: t.MemoryBytes + t.OwnBytes}
	}
	return r
}

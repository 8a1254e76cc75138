package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	kind              prometheus.ValueType
	values            func(*reading) map[string]float64
	histograms        func(*reading) map[string]tally.Durations // in place of kind and values
}

// collector turns a reading of the sources into metrics.
type collector struct {
	s       Sources
	metrics []metric
	descs   []*prometheus.Desc
	build   prometheus.Metric
}

func newCollector(s Sources) *collector {
	c := &collector{s: s, metrics: table()}
	for _, m := range c.metrics {
		var labels []string
		if m.label != "" {
			labels = []string{m.label}
		}
		c.descs = append(c.descs, prometheus.NewDesc(m.name, m.help, labels, nil))
	}
	build := prometheus.NewDesc("warren_build_info", "The program that serves; its value is 1.", nil,
		prometheus.Labels{"version": s.Version["version"], "commit": s.Version["commit"], "go": s.Version["go"]})
	c.build = prometheus.MustNewConstMetric(build, prometheus.GaugeValue, 1)
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
	out <- c.build.Desc()
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	r := c.read()
	for i, m := range c.metrics {
		if m.histograms != nil {
			for label, d := range m.histograms(r) {
				out <- prometheus.MustNewConstHistogram(c.descs[i], d.Count, d.Sum, d.Buckets, labelOf(m, label)...)
			}
			continue
		}
		for label, v := range m.values(r) {
			out <- prometheus.MustNewConstMetric(c.descs[i], m.kind, v, labelOf(m, label)...)
		}
	}
	out <- c.build
}

func labelOf(m metric, value string) []string {
	if m.label == "" {
		return nil
	}
	return []string{value}
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

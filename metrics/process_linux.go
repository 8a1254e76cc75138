package metrics

import (
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// process tells what the server's process uses, by the names of client_golang's collector of processes. That one reads six files of
// /proc at each scrape, the kernel's uptime and the counters of the whole network among them, which takes a quarter of the scrape. What
// does not change is read once here, and there are no counters of the network.
type process struct {
	proc  procfs.Proc
	fixed []prometheus.Metric

	cpu, virtual, resident, open *prometheus.Desc
}

// newProcess returns client_golang's collector where /proc is not readable: it reports why.
func newProcess() prometheus.Collector {
	p := &process{
		cpu:      newDesc("process_cpu_seconds_total", "Total user and system CPU time spent in seconds."),
		virtual:  newDesc("process_virtual_memory_bytes", "Virtual memory size in bytes."),
		resident: newDesc("process_resident_memory_bytes", "Resident memory size in bytes."),
		open:     newDesc("process_open_fds", "Number of open file descriptors."),
	}
	if p.read() != nil {
		return collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	}
	return p
}

func newDesc(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }

func gaugeOf(d *prometheus.Desc, v float64) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
}

// read reads what does not change.
func (p *process) read() (err error) {
	if p.proc, err = procfs.NewProc(os.Getpid()); err != nil {
		return err
	}
	stat, err := p.proc.Stat()
	if err != nil {
		return err
	}
	started, err := stat.StartTime()
	if err != nil {
		return err
	}
	limits, err := p.proc.Limits()
	if err != nil {
		return err
	}
	p.fixed = []prometheus.Metric{
		gaugeOf(newDesc("process_start_time_seconds", "Start time of the process since unix epoch in seconds."), started),
		gaugeOf(newDesc("process_max_fds", "Maximum number of open file descriptors."), float64(limits.OpenFiles)),
		gaugeOf(newDesc("process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes."),
			float64(limits.AddressSpace)),
	}
	return nil
}

// Describe implements prometheus.Collector.
func (p *process) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.cpu, p.virtual, p.resident, p.open} {
		out <- d
	}
	for _, m := range p.fixed {
		out <- m.Desc()
	}
}

// Collect implements prometheus.Collector. What cannot be read now has no value.
func (p *process) Collect(out chan<- prometheus.Metric) {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) == nil {
		all := time.Duration(used.Utime.Nano() + used.Stime.Nano())
		out <- prometheus.MustNewConstMetric(p.cpu, prometheus.CounterValue, all.Seconds())
	}
	if m, err := p.proc.Statm(); err == nil {
		out <- gaugeOf(p.virtual, float64(m.SizeBytes()))
		out <- gaugeOf(p.resident, float64(m.ResidentBytes()))
	}
	if n, err := p.proc.FileDescriptorsLen(); err == nil {
		out <- gaugeOf(p.open, float64(n))
	}
	for _, m := range p.fixed {
		out <- m
	}
}

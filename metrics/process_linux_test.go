package metrics

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// TestProcess: the figures of the process are those of client_golang's collector, but for the network's.
func TestProcess(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	ours := families(t, newProcess())
	for name, theirs := range families(t, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})) {
		if strings.HasPrefix(name, "process_network_") {
			continue
		}
		have := ours[name]
		if have.GetHelp() != theirs.GetHelp() || have.GetType() != theirs.GetType() {
			t.Errorf("%v, want %v", have, theirs)
			continue
		}
		got, want := read(have), read(theirs)
		switch name {
		case "process_cpu_seconds_total", "process_open_fds", "process_resident_memory_bytes", "process_virtual_memory_bytes":
			if got < want/2-0.02 || got > 2*want+0.02 { // it is read at another time, and theirs counts in hundredths of a second
				t.Errorf("%s: %v, want about %v", name, got, want)
			}
		default:
			if got != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
}

func families(t *testing.T, c prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*dto.MetricFamily{}
	for _, f := range all {
		out[f.GetName()] = f
	}
	return out
}

func read(f *dto.MetricFamily) float64 {
	return f.Metric[0].GetGauge().GetValue() + f.Metric[0].GetCounter().GetValue()
}

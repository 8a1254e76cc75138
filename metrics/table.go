package metrics

import (
	"maps"

	dto "github.com/prometheus/client_model/go"

	"warren/tally"
)

// The metrics, one line each. Names follow Prometheus' conventions: base units, _total for counters. Labels take a few
// known values; no id is one.

func table() []metric {
	all := runMetrics()
	all = append(all, usageMetrics()...)
	all = append(all, proxyMetrics()...)
	return append(all, serverMetrics()...)
}

func runMetrics() []metric {
	return []metric{
		gauges("warren_runs", "Runs by state.", "state", func(r *reading) map[string]float64 {
			return map[string]float64{"starting": float64(r.runs.Starting), "running": float64(r.runs.Running),
				"stopping": float64(r.runs.Stopping)}
		}),
		gauge("warren_runs_frozen", "Running browsers that are frozen, since nobody needs them.",
			func(r *reading) float64 { return float64(r.runs.Frozen) }),
		gauge("warren_runs_launching", "Browsers that are being launched.",
			func(r *reading) float64 { return float64(r.runs.Launching) }),
		gauge("warren_runs_warm", "Browsers that are up for a start (--warm).", func(r *reading) float64 { return float64(r.runs.Warm) }),
		gauge("warren_start_queue", "Starts that wait for their turn.", func(r *reading) float64 { return float64(r.runs.Queued) }),
		counter("warren_start_queue_refused_total", "Starts that were refused for want of room.",
			func(r *reading) float64 { return float64(r.runs.Refused) }),
		histogram("warren_start_queue_seconds", "How long starts waited for their turn, their proxy's exit included.",
			func(r *reading) tally.Durations { return r.runs.Waited }),
		counters("warren_starts_total", "Starts by result: ok, or the code of the problem.", "result",
			func(r *reading) map[string]int64 { return with(r.runs.Starts, "ok", "browser_failed", "start_timeout") }),
		histogram("warren_start_seconds", "How long successful starts took.", func(r *reading) tally.Durations { return r.runs.Took }),
		{name: "warren_start_phase_seconds", help: "How long the phases of successful starts took.", label: "phase",
			histograms: func(r *reading) map[string]tally.Durations { return r.runs.Phases }},
		counters("warren_run_ends_total", "Runs that ended, by reason.", "reason",
			func(r *reading) map[string]int64 { return with(r.runs.Ends, "stopped", "crashed", "out_of_memory") }),
	}
}

func usageMetrics() []metric {
	return []metric{
		counters("warren_relay_bytes_total", "Bytes through the relays of runs; up is from the browser.", "direction",
			func(r *reading) map[string]int64 {
				return map[string]int64{"up": r.runs.Totals.BytesUp, "down": r.runs.Totals.BytesDown}
			}),
		gauge("warren_relay_connections", "Connections of runs to targets.",
			func(r *reading) float64 { return float64(r.runs.Totals.Connections) }),
		counter("warren_relay_refused_total", "Connections that host rules refused.",
			func(r *reading) float64 { return float64(r.runs.Totals.RefusedByRules) }),
		counters("warren_gateway_messages_total", "Messages between DevTools clients and browsers; in is from clients.", "direction",
			func(r *reading) map[string]int64 {
				return map[string]int64{"in": r.runs.Totals.MessagesIn, "out": r.runs.Totals.MessagesOut}
			}),
		counters("warren_gateway_bytes_total", "Bytes of these messages.", "direction", func(r *reading) map[string]int64 {
			return map[string]int64{"in": r.runs.Totals.ClientBytesIn, "out": r.runs.Totals.ClientBytesOut}
		}),
		gauge("warren_gateway_clients", "Sockets of DevTools clients.", func(r *reading) float64 { return float64(r.runs.Totals.Clients) }),
		counter("warren_live_frames_total", "Frames that live views were sent.",
			func(r *reading) float64 { return float64(r.runs.Totals.Frames) }),
		gauge("warren_live_viewers", "Viewers of live views.", func(r *reading) float64 { return float64(r.runs.Totals.Watchers) }),
		gauge("warren_runs_memory_bytes", "Memory of all runs.", func(r *reading) float64 { return float64(r.resources.Memory) }),
		gauge("warren_runs_processes", "Processes of all browsers.", func(r *reading) float64 { return float64(r.runs.Totals.Processes) }),
		counter("warren_runs_cpu_seconds_total", "Processor time of all runs.", func(r *reading) float64 { return r.resources.CPU }),
		counter("warren_runs_oom_total", "Runs that ended for want of memory.",
			func(r *reading) float64 { return float64(r.runs.Ends["out_of_memory"]) }),
		{name: "warren_runs_io_bytes_total", help: "Bytes that all runs read from disks and wrote to them; only where the kernel tells.",
			label: "direction", kind: dto.MetricType_COUNTER, values: func(r *reading) map[string]float64 {
				if !r.kernel {
					return nil
				}
				return map[string]float64{"read": float64(r.resources.BytesRead), "written": float64(r.resources.BytesWritten)}
			}},
	}
}

func proxyMetrics() []metric {
	return []metric{
		counters("warren_proxy_checks_total", "Checks of proxies by result: alive, or the code of the error.", "result",
			func(r *reading) map[string]int64 { return with(r.pool.Checks, "alive", "timed_out", "auth_failed") }),
		histogram("warren_proxy_check_seconds", "How long checks took.", func(r *reading) tally.Durations { return r.pool.Took }),
		counters("warren_proxy_rotations_total", "Rotations by result: changed, same, failed.", "result",
			func(r *reading) map[string]int64 { return with(r.pool.Rotations, "changed", "same", "failed") }),
	}
}

func serverMetrics() []metric {
	return []metric{
		counters("warren_http_responses_total", "Answers by class of the status.", "class",
			func(r *reading) map[string]int64 { return r.requests }),
		counter("warren_events_total", "Events that were published.", func(r *reading) float64 { return float64(r.events.Published) }),
		gauge("warren_event_subscribers", "Readers of the event stream.",
			func(r *reading) float64 { return float64(r.events.Subscribers) }),
		counter("warren_event_subscribers_dropped_total", "Readers that did not keep up.",
			func(r *reading) float64 { return float64(r.events.Dropped) }),
		gauge("warren_event_lag", "Events that the slowest reader has not taken.",
			func(r *reading) float64 { return float64(r.events.Lag) }),
		gauge("warren_events_unsent", "Events that other servers of the database have not been sent yet.",
			func(r *reading) float64 { return float64(r.events.Unsent) }),
		counter("warren_events_unshared_total", "Events that other servers never got, since the database was away for too long.",
			func(r *reading) float64 { return float64(r.events.Unshared) }),
		counter("warren_db_writes_total", "Writes that were committed.", func(r *reading) float64 { return float64(r.store.Writes) }),
		counter("warren_db_commits_total", "Transactions that were committed, each with a group of writes.",
			func(r *reading) float64 { return float64(r.store.Groups) }),
		counter("warren_db_rollbacks_total", "Transactions that were lost whole.",
			func(r *reading) float64 { return float64(r.store.Lost) }),
		gauge("warren_db_writes_waiting", "Writes that wait for a transaction.",
			func(r *reading) float64 { return float64(r.store.Waiting) }),
		histogram("warren_db_write_seconds", "How long writes took, from call to disk.",
			func(r *reading) tally.Durations { return r.store.Took }),
		counter("warren_db_read_waits_total", "Reads that waited for a connection.",
			func(r *reading) float64 { return float64(r.store.ReadWaits) }),
		counter("warren_db_read_wait_seconds_total", "How long they waited.",
			func(r *reading) float64 { return r.store.ReadWait.Seconds() }),
		gauges("warren_db_bytes", "Sizes of the database's files: main, and wal for the write-ahead log.", "file",
			func(r *reading) map[string]float64 {
				return map[string]float64{"main": float64(r.store.Bytes), "wal": float64(r.store.Log)}
			}),
		gauge("warren_snapshot_files", "Files of the store of snapshots: packs and trees. At most 5 minutes old.",
			func(r *reading) float64 { return float64(r.kept.Files) }),
		gauge("warren_snapshot_bytes", "Their bytes.", func(r *reading) float64 { return float64(r.kept.Bytes) }),
		optional("warren_backup_timestamp_seconds", "When the newest backup of --backup-to was made (Unix time).",
			func(r *reading) (float64, bool) {
				return float64(r.backup.UnixMilli()) / 1000, !r.backup.IsZero()
			}),
	}
}

// with returns the counts with zeros for the words that alerts look at: a rate needs a value before the first event.
func with(counts map[string]int64, words ...string) map[string]int64 {
	out := make(map[string]int64, len(counts)+len(words))
	for _, w := range words {
		out[w] = 0
	}
	maps.Copy(out, counts)
	return out
}

func one(v func(*reading) float64) func(*reading) map[string]float64 {
	return func(r *reading) map[string]float64 { return map[string]float64{"": v(r)} }
}

func gauge(name, help string, v func(*reading) float64) metric {
	return metric{name: name, help: help, kind: dto.MetricType_GAUGE, values: one(v)}
}

func counter(name, help string, v func(*reading) float64) metric {
	return metric{name: name, help: help, kind: dto.MetricType_COUNTER, values: one(v)}
}

func gauges(name, help, label string, v func(*reading) map[string]float64) metric {
	return metric{name: name, help: help, label: label, kind: dto.MetricType_GAUGE, values: v}
}

func counters(name, help, label string, v func(*reading) map[string]int64) metric {
	return metric{name: name, help: help, label: label, kind: dto.MetricType_COUNTER, values: func(r *reading) map[string]float64 {
		out := map[string]float64{}
		for word, n := range v(r) {
			out[word] = float64(n)
		}
		return out
	}}
}

// optional is a gauge without a value where v has none.
func optional(name, help string, v func(*reading) (float64, bool)) metric {
	return metric{name: name, help: help, kind: dto.MetricType_GAUGE, values: func(r *reading) map[string]float64 {
		if n, ok := v(r); ok {
			return map[string]float64{"": n}
		}
		return nil
	}}
}

func histogram(name, help string, v func(*reading) tally.Durations) metric {
	return metric{name: name, help: help, histograms: func(r *reading) map[string]tally.Durations {
		return map[string]tally.Durations{"": v(r)}
	}}
}

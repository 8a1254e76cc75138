//go:build !windows

package browser

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"warren/testnet"
)

// BenchmarkStart measures Start, and the time until Languages, against a bare Chromium on the same folder (pipe, first evaluation
// answered), in pairs of alternating order. It reports medians in milliseconds, and medians of the pairs' ratios. Run it with
// -benchtime=20x.
func BenchmarkStart(b *testing.B) {
	found, err := Find(b.Context(), "")
	if err != nil {
		b.Skipf("needs a Chromium: %v", err)
	}
	parent, err := os.MkdirTemp("", "wb")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(parent)
	spec := Spec{Path: found.Path, UserDataDir: filepath.Join(parent, "profile"), TempDir: filepath.Join(parent, "t"), Headless: true}
	startOurs(b, spec) // the first start of a profile does more
	var bare, start, looked, ratio, ratioLooked []float64
	for i := 0; b.Loop(); i++ {
		var floor, ours, all float64
		if i%2 == 0 {
			floor = startBare(b, spec)
		}
		ours, all = startOurs(b, spec)
		if i%2 == 1 {
			floor = startBare(b, spec)
		}
		bare, start, looked = append(bare, floor), append(start, ours), append(looked, all)
		ratio, ratioLooked = append(ratio, ours/floor), append(ratioLooked, all/floor)
	}
	b.ReportMetric(0, "ns/op")
	for unit, values := range map[string][]float64{
		"bare-ms": bare, "start-ms": start, "looked-ms": looked, "start/bare": ratio, "looked/bare": ratioLooked} {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], unit)
	}
}

func milliseconds(began time.Time) float64 { return float64(time.Since(began).Microseconds()) / 1000 }

// startOurs returns the time until Start has returned, and until Languages has.
func startOurs(b *testing.B, s Spec) (start, looked float64) {
	b.Helper()
	run, err := Open(s)
	if err != nil {
		b.Fatal(err)
	}
	defer run.Close()
	began := time.Now()
	if err := run.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	start = milliseconds(began)
	run.Languages()
	return start, milliseconds(began)
}

// startBare starts the same program with minimal flags and returns the time until its page has evaluated an expression.
func startBare(b *testing.B, s Spec) float64 {
	b.Helper()
	p, err := newPipe()
	if err != nil {
		b.Fatal(err)
	}
	args := []string{"--headless=new", "--user-data-dir=" + s.UserDataDir, "--host-resolver-rules=MAP * ~NOTFOUND",
		"--remote-debugging-pipe", BlankPage}
	if os.Geteuid() == 0 {
		args = append([]string{"--no-sandbox"}, args...) // makes the floor lower than necessary
	}
	cmd := exec.Command(s.Path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	began := time.Now()
	if err := p.give(cmd); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	p.closeChild()
	m := newMux(p, slog.New(slog.DiscardHandler))
	ended := make(chan struct{})
	go func() { defer close(ended); m.run() }()
	evaluateBare(b, m)
	took := milliseconds(began)
	m.send("", "Browser.close", nil, nil)
	_ = cmd.Wait()
	(&group{cmd.Process.Pid}).await(5 * time.Second)
	p.close()
	<-ended
	return took
}

// evaluateBare evaluates 1 on the browser's page as soon as there is one.
func evaluateBare(b *testing.B, m *mux) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), testnet.Patience)
	defer cancel()
	for {
		targets, err := m.targets(ctx)
		if err != nil {
			b.Fatal(err)
		}
		i := slices.IndexFunc(targets, func(t TargetInfo) bool { return t.Type == "page" })
		if i < 0 {
			continue
		}
		var made struct {
			SessionID string `json:"sessionId"`
		}
		if err := m.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": targets[i].TargetID, "flatten": true},
			&made); err != nil {
			b.Fatal(err)
		}
		if err := m.call(ctx, made.SessionID, "Runtime.evaluate", map[string]string{"expression": "1"}, nil); err != nil {
			b.Fatal(err)
		}
		return
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// phaseNames are the parts of a start through the API, in their order. Each start names them in its Server-Timing header.
func phaseNames() []string {
	return []string{"claim", "plan", "process", "namespace", "launch", "attach", "override", "ready", "record"}
}

// measurePhases shows the parts of a start beside those of a bare one.
func (b *bench) measurePhases(ctx context.Context) error {
	s, err := b.newStarts(ctx, 1)
	if s == nil {
		return err
	}
	defer s.server.stop()
	got, err := b.play(ctx, "phases", 3*b.rounds, side{"ours", s.phases}, side{"floor", s.barePhases})
	if err != nil {
		return err
	}
	floor := map[string][]float64{"launch": got[1][0], "attach": got[1][1], "ready": got[1][2]}
	names := phaseNames()
	for i, name := range names {
		b.table = append(b.table, figure{name: "start, phase " + name, unit: "ms", ours: got[0][i], floor: floor[name]})
	}
	b.table = append(b.table, figure{name: "start, all phases and the answer", unit: "ms", ours: got[0][len(names)], floor: got[1][3]})
	return nil
}

// phases starts a browser through the API. It returns the milliseconds of each phase, and of the whole request.
func (s *starts) phases(ctx context.Context, round int) ([]float64, error) {
	ours, _ := s.folders(round)
	if err := s.server.call(ctx, "POST", "/proxies/"+s.proxy+"/check", struct{}{}, nil); err != nil {
		return nil, err
	}
	began := time.Now()
	header, err := s.server.ask(ctx, "POST", "/profiles/"+ours[0]+"/start", struct{}{}, nil)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	values, err := readTiming(header.Get("Server-Timing"), phaseNames())
	return append(values, milliseconds(took)), errors.Join(err, s.stop(ctx, ours[0]))
}

// readTiming reads the durations of the named metrics from a Server-Timing header.
func readTiming(header string, names []string) (values []float64, err error) {
	for _, name := range names {
		_, rest, found := strings.Cut(", "+header, ", "+name+";dur=")
		number, _, _ := strings.Cut(rest, ",")
		v, err := strconv.ParseFloat(number, 64)
		if !found || err != nil {
			return nil, fmt.Errorf("no %s in Server-Timing: %q", name, header)
		}
		values = append(values, v)
	}
	return values, nil
}

// barePhases starts a bare browser. It returns the milliseconds until its process ran, then until its first page was
// attached, then until that page had evaluated, and of all.
func (s *starts) barePhases(ctx context.Context, round int) ([]float64, error) {
	_, floor := s.folders(round)
	p, err := s.prepareBare(ctx, floor[0])
	if err != nil {
		return nil, err
	}
	b, err := s.startBare(ctx, p)
	if err != nil {
		return nil, err
	}
	all := 0.0
	var values []float64
	for _, phase := range b.watch.Phases {
		values = append(values, milliseconds(phase.Took))
		all += milliseconds(phase.Took)
	}
	return append(values, all), b.stop()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// measureWarm compares starts of new profiles: with a browser that is up before (--warm 1), and without. It also measures
// whole sessions with such browsers. Before each, one is awaited.
func (b *bench) measureWarm(ctx context.Context) error {
	cold, err := b.newStarts(ctx, 1)
	if cold == nil {
		return err
	}
	defer cold.server.stop()
	warm, err := b.newStarts(ctx, 1, "WARREN_WARM=1")
	if err != nil {
		return err
	}
	defer warm.server.stop()
	if _, err := warm.newcomer(false)(ctx, 0); err != nil { // the exit is known now, and the next one is for it
		return err
	}
	got, err := b.play(ctx, "warm", 3*b.rounds, side{"warm", warm.newcomer(true)}, side{"cold", cold.newcomer(false)})
	if err != nil {
		return err
	}
	b.table = append(b.table, figure{name: "start of a new profile, warm beside cold", unit: "ms", ours: got[0][0], floor: got[1][0],
		aim: 0.25})
	sessions, err := b.playSessions(ctx, warm, "session with a warm browser: ", warm.awaitWarm)
	if err == nil {
		b.table = append(b.table, figure{name: "  beside the aim", unit: "ms", ours: sessions,
			floor: constant(lifecycleAim, len(sessions)), aim: 1})
	}
	return err
}

// awaitWarm waits until the server has a warm browser.
func (s *starts) awaitWarm(ctx context.Context) error {
	for late := time.Now().Add(time.Minute); time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		var pressure struct{ Warm int }
		if err := s.server.call(ctx, "GET", "/pressure", nil, &pressure); err != nil || pressure.Warm > 0 {
			return err
		}
	}
	return errors.New("there is no warm browser after a minute")
}

// newcomer is the start of a new profile, from the request to the answer. A start that was not warm, and should have
// been, is an error.
func (s *starts) newcomer(warm bool) trial {
	return func(ctx context.Context, round int) ([]float64, error) {
		if err := s.server.call(ctx, "POST", "/proxies/"+s.proxy+"/check", struct{}{}, nil); err != nil {
			return nil, err
		}
		id, err := s.server.create(ctx, map[string]any{"name": fmt.Sprint("newcomer ", round), "proxyId": s.proxy})
		if err == nil && warm {
			err = s.awaitWarm(ctx)
		}
		if err != nil {
			return nil, err
		}
		begun := time.Now()
		header, err := s.server.ask(ctx, "POST", "/profiles/"+id+"/start", struct{}{}, nil)
		took := time.Since(begun)
		if err != nil {
			return nil, err
		}
		if timing := header.Get("Server-Timing"); strings.Contains(timing, "launch;") == warm {
			return nil, fmt.Errorf("a start with --warm %v took: %s", warm, timing)
		}
		return []float64{milliseconds(took)}, errors.Join(s.stop(ctx, id), s.server.call(ctx, "DELETE", "/profiles/"+id, nil, nil))
	}
}

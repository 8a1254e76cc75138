package main

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

const (
	fifty     = 50
	readLimit = 20.0 // milliseconds: the 99th percentile of reads during the starts
)

// measureFifty starts fifty browsers at once, and reads from the server meanwhile. A start that fails ends the program.
func (b *bench) measureFifty(ctx context.Context) error {
	s, err := b.newStarts(ctx, fifty/2)
	if s == nil {
		return err
	}
	defer s.server.stop()
	got, err := b.play(ctx, "fifty starts", max(1, b.rounds/3), side{"ours", s.fiftyStarts})
	if err != nil {
		return err
	}
	limits := constant(readLimit, len(got[0][0]))
	b.table = append(b.table,
		figure{name: "fifty starts at once: a read meanwhile, p99", unit: "ms", ours: got[0][0], floor: limits, aim: 1},
		figure{name: "  all ready", unit: "s", ours: got[0][1]},
		figure{name: "  later requests that were served before one", unit: "", ours: got[0][2]})
	return nil
}

// fiftyStarts returns the reads' 99th percentile in milliseconds, the seconds until all were ready, and how many later
// requests overtook one at most.
func (s *starts) fiftyStarts(ctx context.Context, _ int) ([]float64, error) {
	reading, done := context.WithCancel(ctx)
	defer done()
	reads := make(chan []float64, 1)
	failed := make(chan error, 1)
	go func() {
		took, err := s.readUntil(reading)
		reads <- took
		failed <- err
	}()
	var turn atomic.Int64
	places := make([]int, len(s.profiles)) // in which turn each became ready
	ready, err := atOnce(s.profiles, func(i int, id string) error {
		time.Sleep(time.Duration(i) * 5 * time.Millisecond) // so that the requests have an order
		err := s.start(ctx, id, "off")
		places[i] = int(turn.Add(1))
		return err
	})
	done()
	took := <-reads
	if err == nil {
		err = <-failed
	}
	if err != nil {
		return nil, err
	}
	_, err = atOnce(s.profiles, func(_ int, id string) error { return s.stop(ctx, id) })
	slices.Sort(took)
	return []float64{took[len(took)*99/100], slices.Max(ready) / 1000, float64(overtaking(places))}, err
}

// readUntil gets a profile and a page of the list in turn until ctx ends. It returns the milliseconds of each.
func (s *starts) readUntil(ctx context.Context) (took []float64, err error) {
	paths := []string{"/profiles/" + s.profiles[0], "/profiles?page=1&limit=20"}
	for i := 0; ; i++ {
		begun := time.Now()
		err := s.server.call(ctx, "GET", paths[i%len(paths)], nil, nil)
		if ctx.Err() != nil {
			return took, nil
		}
		if err != nil {
			return took, err
		}
		took = append(took, milliseconds(time.Since(begun)))
		time.Sleep(5 * time.Millisecond)
	}
}

// overtaking returns the largest number of later requests that were served before one. places has each request's turn.
func overtaking(places []int) (most int) {
	for i, place := range places {
		before := 0
		for _, later := range places[i+1:] {
			if later < place {
				before++
			}
		}
		most = max(most, before)
	}
	return most
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// starts measures the time until a profile's browser takes commands: through the API, and bare with the same flags on
// a folder of the same kind.
type starts struct {
	*bench
	server   *warren
	proxy    string // the proxy's id
	far      string // the address of that proxy's server
	browser  string // the browser's path
	profiles []string
}

// crowd is the number of concurrent starts.
const crowd = 10

// measureStarts compares one start at a time.
func (b *bench) measureStarts(ctx context.Context) error {
	s, err := b.newStarts(ctx, 1)
	if s == nil {
		return err
	}
	defer s.server.stop()
	got, err := b.play(ctx, "start", 3*b.rounds, side{"preflight warn", s.one("warn")}, side{"preflight off", s.one("off")},
		side{"floor", s.bareOne})
	if err != nil {
		return err
	}
	b.table = append(b.table, figure{name: "start, proxy checked a moment ago", unit: "ms", ours: got[0][0], floor: got[2][0], aim: 1.1},
		figure{name: "start, preflight off", unit: "ms", ours: got[1][0], floor: got[2][0], aim: 1.1})
	return nil
}

// measureCrowd compares ten concurrent starts.
func (b *bench) measureCrowd(ctx context.Context) error {
	s, err := b.newStarts(ctx, crowd)
	if s == nil {
		return err
	}
	defer s.server.stop()
	got, err := b.play(ctx, "ten starts", b.rounds, side{"ours", s.many}, side{"floor", s.bareMany})
	if err != nil {
		return err
	}
	for i, f := range []figure{{name: "first", aim: 0.3}, {name: "median"}, {name: "all", aim: 1.15}} {
		b.table = append(b.table, figure{name: "ten starts at once: " + f.name + " ready", unit: "ms", ours: got[0][i],
			floor: got[1][i], aim: f.aim})
	}
	return nil
}

// newStarts starts a server and creates profiles behind a SOCKS5 proxy with a password, the same number for each
// side. Each has been started and stopped, so that its folder is warm. It returns nil where a bare browser cannot be
// driven. settings are variables of the server's environment.
func (b *bench) newStarts(ctx context.Context, each int, settings ...string) (*starts, error) {
	if runtime.GOOS == "windows" { // Windows has other pipes
		return nil, nil
	}
	far, err := b.role(ctx, "far-side")
	if err != nil {
		return nil, err
	}
	server, err := b.serveEmpty(ctx, settings...)
	if err != nil {
		return nil, err
	}
	proxy, err := server.addProxy(ctx, far.address)
	if err != nil {
		return nil, err
	}
	s := &starts{bench: b, server: server, proxy: proxy, far: far.address}
	for i := range 2 * each {
		progress("start: warming folder %d of %d", i+1, 2*each)
		id, err := server.create(ctx, map[string]any{"name": fmt.Sprint("bench ", i), "proxyId": s.proxy})
		if err != nil {
			return nil, err
		}
		s.profiles = append(s.profiles, id)
		if err := errors.Join(s.start(ctx, id, "off"), s.stop(ctx, id)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *starts) start(ctx context.Context, id, preflight string) error {
	var run struct{ Browser struct{ Path string } }
	err := s.server.call(ctx, "POST", "/profiles/"+id+"/start", map[string]any{"preflight": preflight}, &run)
	if s.browser == "" {
		s.browser = run.Browser.Path
	}
	return err
}

func (s *starts) stop(ctx context.Context, id string) error {
	return s.server.call(ctx, "POST", "/profiles/"+id+"/stop", struct{}{}, nil)
}

// folders returns the profiles for our side in this round, and those for the floor. They change sides with every
// round.
func (s *starts) folders(round int) (ours, floor []string) {
	half := len(s.profiles) / 2
	if round%2 == 0 {
		return s.profiles[:half], s.profiles[half:]
	}
	return s.profiles[half:], s.profiles[:half]
}

// one is a start through the API, from the request to the answer.
func (s *starts) one(preflight string) trial {
	return func(ctx context.Context, round int) ([]float64, error) {
		ours, _ := s.folders(round)
		if err := s.server.call(ctx, "POST", "/proxies/"+s.proxy+"/check", struct{}{}, nil); err != nil {
			return nil, err
		}
		begun := time.Now()
		if err := s.start(ctx, ours[0], preflight); err != nil {
			return nil, err
		}
		took := time.Since(begun)
		return []float64{milliseconds(took)}, s.stop(ctx, ours[0])
	}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// many starts all profiles at once and returns when the first, the middle and the last were ready.
func (s *starts) many(ctx context.Context, round int) ([]float64, error) {
	ours, _ := s.folders(round)
	if err := s.server.call(ctx, "POST", "/proxies/"+s.proxy+"/check", struct{}{}, nil); err != nil {
		return nil, err
	}
	ready, err := atOnce(ours, func(_ int, id string) error { return s.start(ctx, id, "warn") })
	if err != nil {
		return nil, err
	}
	_, err = atOnce(ours, func(_ int, id string) error { return s.stop(ctx, id) })
	return spread(ready), err
}

// atOnce calls a function for each of a list at once. It returns the milliseconds until each call returned.
func atOnce[T any](list []T, call func(i int, v T) error) ([]float64, error) {
	ready := make([]float64, len(list))
	var all errgroup.Group
	begun := time.Now()
	for i, v := range list {
		all.Go(func() error {
			err := call(i, v)
			ready[i] = milliseconds(time.Since(begun))
			return err
		})
	}
	return ready, all.Wait()
}

func spread(ready []float64) []float64 {
	return []float64{slices.Min(ready), median(ready), slices.Max(ready)}
}

// bareStart is one start of the floor: it runs what the API's dry run returns.
type bareStart struct {
	args, env []string
}

func (s *starts) prepareBare(ctx context.Context, id string) (bareStart, error) {
	var plan struct{ Arguments, Environment []string }
	err := s.server.call(ctx, "POST", "/profiles/"+id+"/start", map[string]any{"dryRun": true, "preflight": "off"}, &plan)
	if err != nil {
		return bareStart{}, err
	}
	temp := filepath.Join(s.dir, id[len(id)-6:]) // short: Chrome creates a unix socket in it
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return bareStart{}, err
	}
	out := bareStart{args: plan.Arguments}
	for _, v := range plan.Environment {
		out.env = append(out.env, inFolder(v, temp))
	}
	return out, nil
}

// inFolder changes a variable that names the browser's folder for temporary files.
func inFolder(entry, temp string) string {
	key, _, _ := strings.Cut(entry, "=")
	switch key {
	case "TMPDIR", "BREAKPAD_DUMP_LOCATION", "MAC_CHROMIUM_TMPDIR", "TEMP", "TMP":
		return key + "=" + temp
	}
	return entry
}

func (s *starts) bareOne(ctx context.Context, round int) ([]float64, error) {
	_, floor := s.folders(round)
	p, err := s.prepareBare(ctx, floor[0])
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	b, err := s.startBare(ctx, p)
	if err != nil {
		return nil, err
	}
	took := time.Since(begun)
	return []float64{milliseconds(took)}, b.stop()
}

func (s *starts) bareMany(ctx context.Context, round int) ([]float64, error) {
	_, floor := s.folders(round)
	plans, err := s.prepareAll(ctx, floor)
	if err != nil {
		return nil, err
	}
	browsers := make([]*bare, crowd)
	ready, err := atOnce(plans, func(i int, p bareStart) (err error) {
		browsers[i], err = s.startBare(ctx, p)
		return err
	})
	return spread(ready), errors.Join(err, stopAll(browsers))
}

// prepareAll prepares a bare start of each profile.
func (s *starts) prepareAll(ctx context.Context, ids []string) ([]bareStart, error) {
	plans := make([]bareStart, len(ids))
	for i, id := range ids {
		var err error
		if plans[i], err = s.prepareBare(ctx, id); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

func (s *starts) startBare(ctx context.Context, p bareStart) (*bare, error) {
	return startBare(ctx, s.browser, p.args, p.env)
}

// stopAll stops the browsers that have started.
func stopAll(browsers []*bare) error {
	_, err := atOnce(browsers, func(_ int, b *bare) error {
		if b == nil {
			return nil
		}
		return b.stop()
	})
	return err
}

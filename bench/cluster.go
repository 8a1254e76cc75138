package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"warren/browser"
)

const (
	// clusterServers is how many servers share the database of the part cluster.
	clusterServers = 3
	// addedLimit is how many milliseconds a live view may take longer through another server.
	addedLimit = 5.0
	// throughAim is the smallest part of the direct rate of commands that another server must carry.
	throughAim = 0.6
)

// measureCluster compares work through another server of the same database with work through the profile's own.
func (b *bench) measureCluster(ctx context.Context) error {
	if runtime.GOOS == "windows" { // PostgreSQL is not started there
		return nil
	}
	before := len(b.cleanup)
	if err := b.startsOfCluster(ctx); err != nil {
		return err
	}
	b.cleanUp(before)
	servers, err := b.serveCluster(ctx, clusterServers)
	if servers == nil {
		return err
	}
	if err := b.gatewayOfCluster(ctx, servers); err != nil {
		return err
	}
	return b.liveOfCluster(ctx, servers)
}

// serveCluster starts n servers of one PostgreSQL, all with the same keys; nil: it is not installed. more are variables of their
// environment.
func (b *bench) serveCluster(ctx context.Context, n int, more ...string) (servers []*warren, err error) {
	database, err := b.postgres(ctx)
	if err != nil || database == "" {
		return nil, err
	}
	secret, key := "", newKey()
	for i := range n {
		data, err := b.data()
		if err != nil {
			return nil, err
		}
		settings := append([]string{"WARREN_STORE=" + database, fmt.Sprint("WARREN_NODE=bench-", i)}, more...)
		if i > 0 {
			settings = append(settings, "WARREN_SECRET_KEY_FILE="+secret)
		} else {
			secret = filepath.Join(data, "secret.key")
		}
		w, err := b.serveKeyed(ctx, data, key, settings)
		if err != nil {
			return nil, err
		}
		servers = append(servers, w)
	}
	return servers, nil
}

// startOnCluster starts a profile, and returns the server that runs it and another one.
func startOnCluster(ctx context.Context, servers []*warren, profile map[string]any) (id string, own, other *warren, err error) {
	if id, err = servers[0].create(ctx, profile); err != nil {
		return "", nil, nil, err
	}
	if err := servers[0].call(ctx, "POST", "/profiles/"+id+"/start", struct{}{}, nil); err != nil {
		return "", nil, nil, err
	}
	var has struct{ NodeID string }
	if err := servers[0].call(ctx, "GET", "/profiles/"+id, nil, &has); err != nil {
		return "", nil, nil, err
	}
	for i, w := range servers {
		at, err := w.nodeID(ctx)
		if err != nil {
			return "", nil, nil, err
		}
		if at == has.NodeID {
			return id, w, servers[(i+1)%len(servers)], nil
		}
	}
	return "", nil, nil, fmt.Errorf("no server is %s, which has the profile %s", has.NodeID, id)
}

// nodeID returns a server's id among those of its database.
func (w *warren) nodeID(ctx context.Context) (string, error) {
	var list struct {
		Data []struct {
			ID   string
			Self bool
		}
	}
	err := w.call(ctx, "GET", "/nodes", nil, &list)
	for _, n := range list.Data {
		if n.Self {
			return n.ID, err
		}
	}
	return "", errors.Join(err, errors.New("the server is not in its own list"))
}

// gatewayOfCluster drives one page through another server, and through its own.
func (b *bench) gatewayOfCluster(ctx context.Context, servers []*warren) error {
	id, own, other, err := startOnCluster(ctx, servers, map[string]any{"name": "cluster"})
	if err != nil {
		return err
	}
	through := func(w *warren) trial {
		return func(ctx context.Context, _ int) ([]float64, error) {
			var run startedRun
			if err := w.call(ctx, "POST", "/profiles/"+id+"/start", struct{}{}, &run); err != nil { // it runs already
				return nil, err
			}
			return driveOnce(ctx, run.WsEndpoint)
		}
	}
	got, err := b.play(ctx, "cluster: gateway", 3*b.rounds, side{"another server", through(other)}, side{"its own", through(own)})
	if err != nil {
		return err
	}
	for i, f := range []figure{
		{name: "Runtime.evaluate through another server, in turn", unit: "/s", aim: throughAim, atLeast: true},
		{name: "  the same, 16 under way", unit: "/s", aim: throughAim, atLeast: true},
		{name: "  connect to first evaluate", unit: "ms"},
	} {
		f.ours, f.floor = got[0][i], got[1][i]
		b.table = append(b.table, f)
	}
	return own.call(ctx, "POST", "/profiles/"+id+"/stop", struct{}{}, nil)
}

// liveOfCluster watches a browser through another server, and one through its own.
func (b *bench) liveOfCluster(ctx context.Context, servers []*warren) error {
	var views [2]*liveSide
	for i := range views {
		id, own, other, err := startOnCluster(ctx, servers, map[string]any{"name": "live", "headless": true})
		if err != nil {
			return err
		}
		by := other
		if i == 1 {
			by = own
		}
		if views[i], err = watch(ctx, by, id); err != nil {
			return err
		}
		views[i].crowd, views[i].pid = nil, own.pid()
	}
	got, err := b.play(ctx, "cluster: live view", b.rounds, side{"another server", views[0].round}, side{"its own", views[1].round})
	if err != nil {
		return err
	}
	added := make([]float64, len(got[0][0]))
	for i := range added {
		added[i] = got[0][0][i] - got[1][0][i]
	}
	b.table = append(b.table,
		figure{name: "live view through another server: input to changed pixel, median", unit: "ms", ours: got[0][0], floor: got[1][0]},
		figure{name: "  added to its own server's, beside the limit", unit: "ms", ours: added, floor: constant(addedLimit, len(added)),
			aim: 1},
		figure{name: "  frames of a moving page", unit: "/s", ours: got[0][2], floor: got[1][2]})
	return nil
}

const (
	startsEach = 5 // starts at once for each of three servers, in a round
	startsAim  = 2.7
)

// startsOfCluster compares three servers with one, with browsers that are pretended. Each server starts one browser at a time, and each
// browser waits before it answers. So the servers' places are the limit, not the machine.
func (b *bench) startsOfCluster(ctx context.Context) error {
	if err := browser.CheckIsolation(); err != nil && os.Geteuid() == 0 {
		fmt.Fprintln(os.Stderr, "cluster: skipped,", err)
		return nil
	}
	program, err := b.pretendedBrowser()
	if err != nil {
		return err
	}
	far, err := b.role(ctx, "far-side")
	if err != nil {
		return err
	}
	var sides [2]*manyStarts
	for i, n := range []int{clusterServers, 1} {
		servers, err := b.serveCluster(ctx, n, "WARREN_BROWSER="+program, "WARREN_MAX_STARTING=1")
		if servers == nil {
			return err
		}
		if sides[i], err = spreadStarts(ctx, servers, far.address); err != nil {
			return err
		}
	}
	got, err := b.play(ctx, "cluster: starts", b.rounds, side{"three servers", sides[0].round}, side{"one", sides[1].round})
	if err != nil {
		return err
	}
	name := fmt.Sprintf("starts by three servers beside one, pretended browsers that take %v", pretendedWait)
	b.table = append(b.table, figure{name: name, unit: "/s", ours: got[0][0], floor: got[1][0], aim: startsAim, atLeast: true})
	return nil
}

// manyStarts are profiles of a cluster, as many on each server.
type manyStarts struct {
	servers  []*warren
	proxy    string // its id
	profiles []string
}

// spreadStarts creates profiles behind the proxy server far until each server has its part. Servers choose where a profile goes, so that
// some are too many.
func spreadStarts(ctx context.Context, servers []*warren, far string) (*manyStarts, error) {
	s := &manyStarts{servers: servers}
	var err error
	if s.proxy, err = servers[0].addProxy(ctx, far); err != nil {
		return nil, err
	}
	all := clusterServers * startsEach
	for has := map[*warren]int{}; len(s.profiles) < all; {
		id, own, _, err := startOnCluster(ctx, servers, map[string]any{"name": "starts", "proxyId": s.proxy})
		if err != nil {
			return nil, err
		}
		if err := own.call(ctx, "POST", "/profiles/"+id+"/stop", struct{}{}, nil); err != nil {
			return nil, err
		}
		if has[own] < all/len(servers) {
			has[own]++
			s.profiles = append(s.profiles, id)
		}
	}
	return s, nil
}

// round returns the starts a second of all profiles at once, each asked of the next server.
func (s *manyStarts) round(ctx context.Context, _ int) ([]float64, error) {
	call := func(action string) error {
		_, err := atOnce(s.profiles, func(i int, id string) error {
			return s.servers[i%len(s.servers)].call(ctx, "POST", "/profiles/"+id+"/"+action, struct{}{}, nil)
		})
		return err
	}
	if err := s.servers[0].call(ctx, "POST", "/proxies/"+s.proxy+"/check", struct{}{}, nil); err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := call("start"); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	return []float64{float64(len(s.profiles)) / took.Seconds()}, call("stop")
}

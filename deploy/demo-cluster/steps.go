//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"warren/demonet"
)

// The steps.

const (
	profiles = 30
	atOnce   = 3 // browsers that start and stop at the same time
)

func (d *demo) stage(ctx context.Context) (string, error) {
	c := d.cluster
	if err := c.start(ctx); err != nil {
		return "", err
	}
	events, err := c.listen(ctx, c.servers[2])
	if err != nil {
		return "", err
	}
	d.events = events
	var list struct {
		Data []struct{ Name, Address, State string }
	}
	if err := c.call(ctx, c.servers[0], "GET", "/nodes", nil, &list); err != nil {
		return "", err
	}
	lines := []string{"PostgreSQL at " + strings.TrimSuffix(strings.TrimPrefix(c.url, "postgres://warren@"), "/postgres?sslmode=disable")}
	for _, n := range list.Data {
		lines = append(lines, fmt.Sprintf("server %s at %s: %s", n.Name, n.Address, n.State))
		if n.State != "up" {
			return "", errors.New(lines[len(lines)-1])
		}
	}
	if len(list.Data) != len(c.servers) {
		return "", fmt.Errorf("GET /nodes lists %d servers", len(list.Data))
	}
	return strings.Join(lines, "\n"), nil
}

func (d *demo) addProxy(ctx context.Context) (string, error) {
	a, b := d.cluster.servers[0], d.cluster.servers[1]
	var made struct{ ID string }
	in := map[string]any{"type": "socks5", "host": "127.0.0.1", "port": d.proxy.Port(), "username": "demo", "password": d.proxy.Password,
		"name": "Demo proxy"}
	if err := d.cluster.call(ctx, a, "POST", "/proxies", in, &made); err != nil {
		return "", err
	}
	var check struct {
		OK     bool
		ExitIP string
	}
	if err := d.cluster.call(ctx, b, "POST", "/proxies/"+made.ID+"/check", nil, &check); err != nil {
		return "", err
	}
	if !check.OK || check.ExitIP != d.proxy.Exit {
		return "", fmt.Errorf("the check says %+v", check)
	}
	d.proxyID = made.ID
	return "alive, exit " + check.ExitIP + "; server b has opened the password with the key that all share", nil
}

func (d *demo) create(ctx context.Context) (string, error) {
	for i := range profiles {
		var made struct{ ID string }
		in := map[string]any{"name": fmt.Sprintf("Customer %d", i+1), "tags": []string{"demo"}, "proxyId": d.proxyID}
		if err := d.cluster.call(ctx, d.at(i), "POST", "/profiles", in, &made); err != nil {
			return "", err
		}
		d.profiles = append(d.profiles, made.ID)
	}
	for _, s := range d.cluster.servers {
		var list struct{ Total int }
		if err := d.cluster.call(ctx, s, "GET", "/profiles?limit=1", nil, &list); err != nil {
			return "", err
		}
		if list.Total != profiles {
			return "", fmt.Errorf("server %s lists %d profiles", s.name, list.Total)
		}
	}
	return fmt.Sprintf("each server lists all %d", profiles), nil
}

// at returns one server after the other.
func (d *demo) at(i int) *server { return d.cluster.servers[i%len(d.cluster.servers)] }

func (d *demo) place(ctx context.Context) (string, error) {
	begun := time.Now()
	starting, limited := errgroup.WithContext(ctx)
	starting.SetLimit(atOnce)
	for i, id := range d.profiles {
		starting.Go(func() error {
			if _, err := d.cluster.startProfile(limited, d.at(i), id); err != nil {
				return fmt.Errorf("start profile %d: %w", i+1, err)
			}
			return d.cluster.stopProfile(limited, d.at(i+1), id)
		})
	}
	if err := starting.Wait(); err != nil {
		return "", err
	}
	took := time.Since(begun)
	placed := []string{}
	for _, s := range d.cluster.servers {
		ids, err := d.profilesOf(ctx, s)
		if err != nil {
			return "", err
		}
		if len(ids) == 0 {
			return "", fmt.Errorf("server %s got no profile", s.name)
		}
		placed = append(placed, fmt.Sprintf("server %s has %d", s.name, len(ids)))
	}
	return fmt.Sprintf("%s; %d starts and stops in %.0f s, %d at a time", strings.Join(placed, ", "), profiles, took.Seconds(), atOnce), nil
}

// profilesOf returns the profiles whose data a server has.
func (d *demo) profilesOf(ctx context.Context, s *server) (ids []string, err error) {
	var list struct {
		Data []struct {
			ID   string
			Self bool
		}
	}
	if err := d.cluster.call(ctx, s, "GET", "/nodes", nil, &list); err != nil {
		return nil, err
	}
	own := ""
	for _, n := range list.Data {
		if n.Self {
			own = n.ID
		}
	}
	list.Data = nil
	if err := d.cluster.call(ctx, s, "GET", "/profiles?limit=100&nodeId="+own, nil, &list); err != nil {
		return nil, err
	}
	for _, p := range list.Data {
		ids = append(ids, p.ID)
	}
	return ids, nil
}

// driveBy starts a profile at a server, which may run already, and opens a page through that server. The site must see the proxy.
func (d *demo) driveBy(ctx context.Context, s *server, id, path string) (started, error) {
	run, err := d.cluster.startProfile(ctx, s, id)
	if err != nil {
		return run, err
	}
	if !strings.HasPrefix(run.CdpURL, s.address+"/cdp/") {
		return run, errors.New("the address for CDP is not that of the server that was asked")
	}
	if err := visit(ctx, run.CdpURL, "http://"+demonet.Host+path); err != nil {
		return run, err
	}
	seen, err := d.site.Await(ctx, path)
	if err == nil && seen.Address != d.proxy.Exit {
		err = fmt.Errorf("the site saw %s, not the proxy's exit %s", seen.Address, d.proxy.Exit)
	}
	return run, err
}

func (d *demo) drive(ctx context.Context) (string, error) {
	a, c := d.cluster.servers[0], d.cluster.servers[2]
	ids, err := d.profilesOf(ctx, a)
	if err != nil {
		return "", err
	}
	d.driven = ids[0]
	run, err := d.driveBy(ctx, c, d.driven, "/driven")
	if err != nil {
		return "", err
	}
	d.runID = run.RunID
	return fmt.Sprintf("CDP at %s/cdp/…; the site saw the address %s, the proxy's", c.address, d.proxy.Exit), nil
}

func (d *demo) kill(ctx context.Context) (string, error) {
	a, b, c := d.cluster.servers[0], d.cluster.servers[1], d.cluster.servers[2]
	if err := a.kill(); err != nil {
		return "", err
	}
	_, err := d.cluster.startProfile(ctx, b, d.driven)
	refused, ok := errors.AsType[*refusal](err)
	if !ok || refused.Status != 409 || refused.Code != "node_unreachable" || !strings.Contains(refused.Detail, a.address) {
		return "", fmt.Errorf("server b answers the start of a profile of server a: %w", err)
	}
	ids, err := d.profilesOf(ctx, b)
	if err != nil {
		return "", err
	}
	if _, err := d.driveBy(ctx, c, ids[0], "/meanwhile"); err != nil {
		return "", err
	}
	return refused.Error() + "\nmeanwhile server c drove a browser of server b", d.cluster.stopProfile(ctx, c, ids[0])
}

func (d *demo) back(ctx context.Context) (string, error) {
	a, c := d.cluster.servers[0], d.cluster.servers[2]
	begun := time.Now()
	if err := d.cluster.serve(ctx, a); err != nil {
		return "", err
	}
	up := time.Since(begun)
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var run started
	if err := waitFor(limit, "server a answers again", func() (err error) {
		run, err = d.cluster.startProfile(limit, c, d.driven)
		return err
	}); err != nil {
		return "", err
	}
	if !run.Reused || run.RunID != d.runID {
		return "", fmt.Errorf("the run is %s, not %s", run.RunID, d.runID)
	}
	d.liveURL = run.LiveURL
	_, err := d.driveBy(ctx, c, d.driven, "/again")
	return fmt.Sprintf("up after %.0f s: the beat of its last process has to count as gone\nthe same run, %s; the site saw %s again",
		up.Seconds(), run.RunID, d.proxy.Exit), err
}

func (d *demo) told(ctx context.Context) (string, error) {
	lines := []string{}
	for _, s := range d.cluster.servers {
		ids, err := d.profilesOf(ctx, s)
		if err != nil {
			return "", err
		}
		limit, cancel := context.WithTimeout(ctx, patience)
		err = waitFor(limit, "the events of server "+s.name+" are there", func() error {
			if n := d.events.count("run.started", ids); n < len(ids) {
				return fmt.Errorf("%d of %d starts", n, len(ids))
			}
			return nil
		})
		cancel()
		if err != nil {
			return "", err
		}
		lines = append(lines, fmt.Sprintf("of server %s: %d run.started, %d run.ended", s.name, d.events.count("run.started", ids),
			d.events.count("run.ended", ids)))
	}
	return strings.Join(lines, "\n"), nil
}

package main

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"warren/proxy"
	"warren/shim"
	"warren/store"
)

// This file is about a profile's allowLocal: services of this machine or its network that its pages may reach.

// maxLocal is how many a profile may name.
const maxLocal = 20

// checkLocal normalises the targets and notes what is wrong with them: what is no local service, this server's own address, and
// everything where private networks are closed.
func (in *profileInput) checkLocal(s *server, f *faults) {
	targets := in.AllowLocal.Value
	if !in.AllowLocal.given() || len(targets) == 0 {
		return
	}
	if !s.cfg.allowPrivate() {
		f.add("body.allowLocal", "is refused: this server lets profiles reach no private network, nor this machine (--allow-private)", nil)
	}
	if len(targets) > maxLocal {
		f.add("body.allowLocal", fmt.Sprintf("must have at most %d targets; it has %d", maxLocal, len(targets)), nil)
	}
	normal := make([]string, 0, len(targets))
	for i, target := range targets {
		v, err := proxy.LocalBypass(target)
		t := net.JoinHostPort(v.Host, v.Port)
		host, _, _ := net.SplitHostPort(target)
		switch {
		case proxy.IsDebugHost(host):
			f.add(fmt.Sprintf("body.allowLocal[%d]", i), "is of 127.77.0.0/16, where runs listen for debuggers: no page may reach it", cut(target))
		case err != nil:
			f.add(fmt.Sprintf("body.allowLocal[%d]", i), "must be host:port of this machine or a private network, such as localhost:3000; the host is localhost or an address", cut(target))
		case s.isOwn(t):
			f.add(fmt.Sprintf("body.allowLocal[%d]", i), "is this server's own address, which no page may reach", cut(target))
		case !slices.Contains(normal, t):
			normal = append(normal, t)
		}
	}
	in.AllowLocal.Value = normal
}

// isOwn says whether a target is the address that this server listens on.
func (s *server) isOwn(target string) bool {
	host, port, err := net.SplitHostPort(target)
	if err != nil || port != s.port {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err != nil || a.IsLoopback() || slices.Contains(machineAddrs(), a) // a name is one of localhost's
}

func machineAddrs() (out []netip.Addr) {
	addrs, _ := net.InterfaceAddrs() // without them loopback still counts
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().Unmap())
		}
	}
	return out
}

// detours are the services that the profile's pages may reach. What the server does not allow any more is left out, and told.
func (s *server) detours(row store.Profile) (out []shim.Bypass, warnings []warningJSON, err error) {
	var targets []string
	if err := json.Unmarshal([]byte(row.AllowLocal), &targets); err != nil {
		return nil, nil, err
	}
	var closed []string
	for _, target := range targets {
		v, err := proxy.LocalBypass(target)
		if err != nil || !s.cfg.allowPrivate() || s.isOwn(target) {
			closed = append(closed, target)
			continue
		}
		out = append(out, v)
	}
	if len(closed) > 0 {
		warnings = append(warnings, warningJSON{"allow_local_refused", "This server lets no page reach " + strings.Join(closed, ", ") + ", which allowLocal names."})
	}
	return out, warnings, nil
}

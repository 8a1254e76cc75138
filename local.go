package main

import (
	"fmt"
	"net"
	"slices"

	"warren/proxy"
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
		case s.runs.isOwn(t):
			f.add(fmt.Sprintf("body.allowLocal[%d]", i), "is this server's own address, which no page may reach", cut(target))
		case !slices.Contains(normal, t):
			normal = append(normal, t)
		}
	}
	in.AllowLocal.Value = normal
}

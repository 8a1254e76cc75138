package api

import (
	"net"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/proxy"
)

// Checks allowLocal and localhostVia: what pages reach of this machine and its network beside the profile's proxy.

const (
	maxLocal = 20 // targets of allowLocal
	maxVia   = 20 // entries of localhostVia
)

const closedPrivate = "This server keeps pages out of private networks and this computer. Start it with --allow-private=yes to allow them."

// viaList is a list of "port" or "name:port"; an integer is taken for a port too.
type viaList []string

// UnmarshalJSON takes strings and integers.
func (v *viaList) UnmarshalJSON(b []byte) error {
	var items []digits
	if err := json.Unmarshal(b, &items); err != nil {
		return err
	}
	*v = make(viaList, len(items))
	for i, item := range items {
		(*v)[i] = string(item)
	}
	return nil
}

// Schema takes both.
func (viaList) Schema(huma.Registry) *huma.Schema {
	either := []*huma.Schema{{Type: huma.TypeString}, {Type: huma.TypeInteger}}
	return &huma.Schema{Type: huma.TypeArray, Nullable: true, Items: &huma.Schema{AnyOf: either},
		Examples: []any{[]string{"3000", "app.test:3000"}}}
}

// localTargets normalises the targets of allowLocal, and notes those that are no local service.
func (f *faults) localTargets(location string, targets []string) []string {
	f.atMost(maxLocal, "targets", location, len(targets))
	normal := make([]string, len(targets))
	for i, target := range targets {
		bypass, err := proxy.LocalBypass(target)
		host, _, _ := net.SplitHostPort(target)
		switch {
		case proxy.IsDebugHost(host):
			f.add(element(location, i), reserved, cut(target))
		case err != nil:
			f.add(element(location, i), "Enter a local service as host:port, such as localhost:3000. "+
				"The host is localhost or a private address.", cut(target))
		}
		normal[i] = net.JoinHostPort(bypass.Host, bypass.Port)
	}
	return normal
}

// viaEntries normalises the entries of localhostVia, and notes those that name no port.
func (f *faults) viaEntries(location string, entries viaList) viaList {
	f.atMost(maxVia, "entries", location, len(entries))
	normal := make(viaList, len(entries))
	for i, entry := range entries {
		name, port, ok := proxy.LocalhostName(entry)
		if !ok {
			f.add(element(location, i), "Enter a port such as 3000, or a name and a port such as app.test:3000. "+
				"For localhost enter the port alone.", cut(entry))
		}
		if normal[i] = port; name != "" {
			normal[i] = name + ":" + port
		}
	}
	return normal
}

// checkBypasses refuses what this server lets no page reach: its own address, and everything private where that is closed.
func (s *API) checkBypasses(in *ProfileInput, f *faults) {
	check := func(location string, entries []string, isOwn func(string) bool, own string) {
		f.require(len(entries) == 0 || s.cfg.AllowPrivate, location, closedPrivate)
		for i, entry := range entries {
			if isOwn(entry) {
				f.add(element(location, i), own, cut(entry))
			}
		}
	}
	check("body.allowLocal", in.AllowLocal.Value, s.runs.IsOwn, "This is the server's own address, which pages may not reach. Remove it.")
	check("body.localhostVia", in.LocalhostVia.Value, func(entry string) bool {
		return s.runs.IsOwnPort(entry[strings.LastIndexByte(entry, ':')+1:])
	}, "This is the server's own port, which pages may not reach. Remove it.")
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"warren/nodes"
	"warren/store"
)

// This server among those that share a database: its flags, and its entry.

// maxNodeName is the longest name of a server, in bytes.
const maxNodeName = 200

// resolveNode checks the flags of a server that shares a database. Without --store there is no other server.
func (c *serveConfig) resolveNode(f *faults) {
	if c.Store == "" {
		for flag, given := range map[string]bool{"node": c.Node != "", "advertise": c.Advertise != "", "label": len(c.Label) > 0} {
			if given {
				f.add("--%s is of servers that share a database: give --store too, or leave it out", flag)
			}
		}
	}
	if c.Node == "" {
		c.Node, _ = os.Hostname() //nolint:errcheck // a machine without a name has none to show
	}
	if len(c.Node) > maxNodeName || strings.ContainsFunc(c.Node, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		f.add("--node %q must be a line of %d bytes at most", c.Node, maxNodeName)
	}
	if c.Advertise != "" && !isServerURL(c.Advertise) {
		f.add("--advertise %q must be http://HOST:PORT or https://HOST:PORT", withoutSecrets(c.Advertise))
	}
	c.resolveLabels(f)
}

// resolveLabels parses the labels.
func (c *serveConfig) resolveLabels(f *faults) {
	c.labels = map[string]string{}
	for _, text := range c.Label {
		key, value, ok := strings.Cut(text, "=")
		if !ok || !nodes.IsLabel(key, value) {
			f.add("--label %q must be KEY=VALUE of %s", text, nodes.LabelRule)
		} else if _, twice := c.labels[key]; twice {
			f.add("--label %s is given twice", key)
		}
		c.labels[key] = value
	}
	if len(c.labels) > nodes.MaxLabels {
		f.add("--label may be given %d times at most", nodes.MaxLabels)
	}
}

// isServerURL reports whether a text is the address of a server alone.
func isServerURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" &&
		u.Fragment == "" && strings.Trim(u.Path, "/") == ""
}

// address is where the other servers reach this one: --advertise, or where it listens.
func (c *serveConfig) address(listens net.Addr) string {
	if c.Advertise != "" {
		return strings.TrimRight(c.Advertise, "/")
	}
	if c.certificate != nil || len(c.ACME) > 0 {
		return "https://" + listens.String()
	}
	return "http://" + listens.String()
}

// joinNodes makes this server one of those that share the database of --store. With SQLite it is the only one. Another server that lives
// is a refusal, and so is an authority that the secret key does not open.
func (c *serveConfig) joinNodes(ctx context.Context, log *slog.Logger, st *store.Store, listens net.Addr) (*nodes.Node, error) {
	n := nodes.Config{Data: c.Data, Name: c.Node, Address: c.address(listens), Version: version, Labels: c.labels, Capacity: c.MaxRunning}
	if c.Store == "" {
		return nodes.Alone(n), nil
	}
	node, err := nodes.Join(ctx, n, log, st)
	if errors.Is(err, nodes.ErrTaken) || errors.Is(err, nodes.ErrAuthority) {
		err = refusal{err}
	}
	return node, err
}

// isThisMachine reports whether only this machine reaches a host.
func isThisMachine(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

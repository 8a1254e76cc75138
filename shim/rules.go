package shim

import (
	"context"
	"encoding/json"
	"net/http"

	"warren/proxy"
)

// Applies the rules about hosts to the relay, and returns the recorded hosts.

// setRules applies the rules to the relay, and returns how many connections it closed because of them.
func (p *process) setRules(r Rules) (ended int, err error) {
	rules, err := proxy.NewRules(r.Allow, r.Deny)
	if err != nil {
		return 0, err
	}
	p.relay.LogHosts(r.Log)
	return p.relay.SetRules(rules), nil
}

// hosts returns nil if hosts are not recorded.
func (p *process) hosts() *Hosts {
	list, more := p.relay.Hosts()
	if list == nil {
		return nil
	}
	return &Hosts{list, more}
}

// Hosts asks the shim for the requested hosts. They are nil if hosts are not recorded.
func (c *Client) Hosts(ctx context.Context) (*Hosts, error) { return ask[*Hosts](ctx, c, "/hosts") }

// serveRules replaces the run's rules.
func (p *process) serveRules(w http.ResponseWriter, r *http.Request) {
	var rules Rules
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<20)).Decode(&rules)
	if err == nil {
		_, err = p.setRules(rules)
	}
	if err != nil {
		http.Error(w, "no rules", http.StatusBadRequest)
		return
	}
	writeJSON(w, struct{}{})
}

// SetRules replaces the run's rules at once. Connections that violate them are closed.
func (c *Client) SetRules(ctx context.Context, r Rules) error {
	return c.call(ctx, http.MethodPut, "/rules", r, nil)
}

// LocalBypass reads a service of this machine or its network that pages may reach without the upstream (proxy.LocalBypass).
func LocalBypass(target string) (Bypass, error) { return proxy.LocalBypass(target) }

// LocalhostName reads a name and a port, or a port alone, that lead to this machine (proxy.LocalhostName).
func LocalhostName(entry string) (name, port string, ok bool) { return proxy.LocalhostName(entry) }

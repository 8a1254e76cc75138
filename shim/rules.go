package shim

import (
	"context"
	"encoding/json"
	"net/http"

	"warren/proxy"
)

// Rules say which hosts the pages of a run may reach, and whether it is kept which they ask for.
type Rules struct {
	Allow []string `json:"allow"` // none: every host
	Deny  []string `json:"deny"`
	Log   bool     `json:"log"`
}

// setRules makes the relay keep to them, and says how many connections against them were ended.
func (p *process) setRules(r Rules) (ended int, err error) {
	rules, err := proxy.NewRules(r.Allow, r.Deny)
	if err != nil {
		return 0, err
	}
	p.relay.LogHosts(r.Log)
	return p.relay.SetRules(rules), nil
}

// Hosts are what a run's pages have asked for, as far as it was kept.
type Hosts struct {
	List []proxy.HostStats `json:"list"`
	More int64             `json:"more"` // requests for hosts that had no place any more
}

// hosts is nil when nothing is kept.
func (p *process) hosts() *Hosts {
	list, more := p.relay.Hosts()
	if list == nil {
		return nil
	}
	return &Hosts{list, more}
}

// Hosts asks the shim which hosts were asked for; nil when that is not kept.
func (c *Client) Hosts(ctx context.Context) (*Hosts, error) {
	var out *Hosts
	err := c.call(ctx, http.MethodGet, "/hosts", nil, &out)
	return out, err
}

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
	send(w, struct{}{})
}

// SetRules makes the run keep to other rules, at once; connections against them are ended.
func (c *Client) SetRules(ctx context.Context, r Rules) error {
	return c.call(ctx, http.MethodPut, "/rules", r, nil)
}

package shim

import (
	"context"
	"encoding/json"
	"net/http"

	"warren/proxy"
)

// Rules say which hosts the pages of a run may reach.
type Rules struct {
	Allow []string `json:"allow"` // none: every host
	Deny  []string `json:"deny"`
}

// setRules makes the relay keep to them, and says how many connections against them were ended.
func (p *process) setRules(r Rules) (ended int, err error) {
	rules, err := proxy.NewRules(r.Allow, r.Deny)
	if err != nil {
		return 0, err
	}
	return p.relay.SetRules(rules), nil
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

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"warren/proxy"
	"warren/shim"
	"warren/store"
)

// This file is about which hosts a profile's pages may reach: allowHosts and denyHosts. The run's relay keeps them (proxy/rules.go says what
// each rule is about).

// maxRules is how many rules a list may have.
const maxRules = 1000

// checkRules gives each rule its one spelling, and notes those that are none.
func (in *profileInput) checkRules(f *faults) {
	for _, list := range []struct {
		name  string
		rules *opt[[]string]
	}{{"allowHosts", &in.AllowHosts}, {"denyHosts", &in.DenyHosts}} {
		if n := len(list.rules.Value); n > maxRules {
			f.add("body."+list.name, fmt.Sprintf("must have at most %d rules; it has %d", maxRules, n), nil)
			continue
		}
		var normal []string
		seen := map[string]bool{}
		for i, s := range list.rules.Value {
			rule, err := proxy.NormalizeRule(s)
			if err != nil {
				f.add(fmt.Sprintf("body.%s[%d]", list.name, i), "is no rule: "+err.Error(), cut(s))
			} else if !seen[rule] {
				seen[rule] = true
				normal = append(normal, rule)
			}
		}
		list.rules.Value = normal
	}
}

func rulesOf(row store.Profile) shim.Rules {
	return shim.Rules{Allow: stringsOf(row.AllowHosts), Deny: stringsOf(row.DenyHosts), Log: row.LogHosts}
}

// refreshRules has a run keep to its profile's rules as they are now.
func (s *server) refreshRules(ctx context.Context, r *profileRun) {
	r.swap.Lock()
	defer r.swap.Unlock()
	ctx, cancel := context.WithTimeout(ctx, swapPatience)
	defer cancel()
	r.mu.Lock()
	client, running := r.client, r.status == "running"
	r.mu.Unlock()
	if !running {
		return
	}
	row, err := s.profileRow(ctx, r.profileID, false)
	if err == nil {
		rules := rulesOf(row)
		if err = client.SetRules(ctx, rules); err == nil {
			r.rules = &rules
		}
		err = errors.Join(err, s.runs.notePendingRules(r, row))
	}
	if err != nil {
		s.log.Warn("a running profile keeps its old rules until its next start", "profile", r.profileID, "cause", err)
	}
}

// notePendingRules writes into a run which of its profile's rules it does not keep. r.swap is held.
func (rs *runs) notePendingRules(r *profileRun, row store.Profile) error {
	r.mu.Lock()
	if r.answer == nil {
		r.mu.Unlock()
		return nil
	}
	answer := *r.answer // others may hold the old one
	others := slices.DeleteFunc(slices.Clone(answer.Pending), func(member string) bool {
		return r.rules != nil && slices.Contains([]string{"allowHosts", "denyHosts", "logHosts"}, member)
	})
	answer.Pending = r.pendingRules(row, others)
	if slices.Equal(answer.Pending, r.answer.Pending) {
		r.mu.Unlock()
		return nil
	}
	r.answer = &answer
	text, err := json.Marshal(runRecord{&answer, r.began})
	r.mu.Unlock()
	if err != nil {
		return err
	}
	defer rs.publishUpdate(r)
	return rs.record(func(ctx context.Context, q *store.Queries) error {
		_, err := q.SetRunRecord(ctx, store.SetRunRecordParams{ID: r.id, Record: string(text)})
		return err
	})
}

// pendingRules adds which of a profile's rules its run does not keep. r.swap is held.
func (r *profileRun) pendingRules(row store.Profile, pending []string) []string {
	if r.rules == nil {
		return pending
	}
	wanted := rulesOf(row)
	if !slices.Equal(wanted.Allow, r.rules.Allow) {
		pending = append(pending, "allowHosts")
	}
	if !slices.Equal(wanted.Deny, r.rules.Deny) {
		pending = append(pending, "denyHosts")
	}
	if wanted.Log != r.rules.Log {
		pending = append(pending, "logHosts")
	}
	slices.Sort(pending)
	return pending
}

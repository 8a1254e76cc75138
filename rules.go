package main

import (
	"fmt"

	"warren/proxy"
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

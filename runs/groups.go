package runs

import (
	"errors"
	"log/slog"
	"strings"

	"warren/cgroup"
	"warren/store"
)

// Gives each run a control group with the limits of its profile or of the server. The server makes the group before the
// browser starts and removes it after the end. What is left in it then is killed.

// groups makes the groups of runs.
type groups struct {
	tree   *cgroup.Tree
	log    *slog.Logger
	limits Limits // of runs whose profile does not say
}

// of returns the limits of a profile's runs: its own, and the server's where it has none.
func (g *groups) of(row store.Profile) Limits { return limitsFrom(row.Limits, g.limits) }

// warmGroup is how the names of warm runs' groups begin.
const warmGroup = "warm-"

// openGroups finds where runs get control groups, and says in one line what there is.
func openGroups(cfg Config, log *slog.Logger) *groups {
	tree, limits := cgroup.Open(GroupsName(cfg.Data)), cfg.Limits
	if cfg.FreezeAfter > 0 && !tree.CanFreeze() {
		log.Warn("runs are not frozen", "by", tree.Support().String(), "advice", tree.Support().Advice)
	}
	if s := tree.Support(); len(s.Missing) > 0 {
		log.Warn("runs are not limited in every way", "by", s.String(), "advice", s.Advice)
	} else {
		log.Info("each run has a control group", "by", s.String())
	}
	return &groups{tree, log, limits}
}

// end kills what is left of a run, removes its group, and returns what it has used.
func (g *groups) end(profileID string, of *cgroup.Group) cgroup.Usage {
	used := of.Usage()
	if err := errors.Join(of.Kill(), of.Remove()); err != nil {
		g.log.Warn("the control group of a run that is over stays until the next serve", "profile", profileID, "cause", err)
	}
	return used
}

// missing is a warning about limits that nothing keeps to; nil: there are none.
func (g *groups) missing(l Limits, of *cgroup.Group) *Warning {
	var names []string
	for _, x := range []struct {
		name, controller string
		set              bool
	}{{"memoryMb", cgroup.Memory, l.MemoryBytes > 0}, {"cpuPercent", cgroup.CPU, l.CPUPercent > 0}, {"pids", cgroup.PIDs, l.PIDs > 0}} {
		if x.set && !of.Has(x.controller) {
			names = append(names, x.name)
		}
	}
	if names == nil || l == g.limits { // serve has said it once
		return nil
	}
	return &Warning{"limits_missing", "This server cannot limit " + strings.Join(names, ", ") + ": " + g.tree.Support().String() + "."}
}

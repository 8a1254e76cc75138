// Package cgroup keeps each run in a control group of its own (cgroups(7)). The kernel limits and counts its memory,
// processor time and processes, and ends what is left of it. Version 2 is used where a part of the tree belongs to the
// server. Else version 1 is, where its hierarchies can be written, else nothing.
//
// No file of this package knows of browsers. A group is named by its folders, so that a process of its own can join it,
// and a later server finds it again.
package cgroup

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Kind says what the machine offers.
type Kind string

// The kinds of support. None: the system has no control groups, or this process may not make any.
const (
	V2   Kind = "v2"
	V1   Kind = "v1"
	None Kind = "none"
)

// The controllers that a run's group uses, by their names in version 2. In version 1 CPU is cpu and cpuacct, and IO is
// blkio. Freezer is one of version 1: in version 2 every group can be frozen.
const (
	Memory  = "memory"
	PIDs    = "pids"
	CPU     = "cpu"
	IO      = "io"
	Account = "cpuacct" // of version 1 alone
	Freezer = "freezer" // of version 1 alone
)

// Limits are what a run may use. 0 is no limit.
type Limits struct {
	MemoryBytes int64 `json:"memoryBytes"` // of all its processes, with what they keep of files and in shared memory
	CPUPercent  int   `json:"cpuPercent"`  // of one core: 200 are two cores
	PIDs        int   `json:"pids"`        // processes and threads
}

// Usage is what a group has used. A figure that the kernel does not tell is nil.
type Usage struct {
	MemoryBytes *int64         // now, without what it could give back at once (inactive pages of files)
	SwapBytes   *int64         // now in swap, which comes back when it is used
	PeakBytes   *int64         // the most so far, with those
	LimitBytes  *int64         // nil also without a limit
	CPU         *time.Duration // of all processes, also of those that are gone
	ReadBytes   *int64         // from disks
	WriteBytes  *int64         // to disks
	PIDs        *int           // processes and threads now
	OOMKills    int64          // processes that the kernel has killed for lack of memory
}

// Add adds the figures of another group, for sums over all runs. A figure that one of them has is in the sum; limits are
// not added.
func (u *Usage) Add(other Usage) {
	sum(&u.MemoryBytes, other.MemoryBytes)
	sum(&u.SwapBytes, other.SwapBytes)
	sum(&u.PeakBytes, other.PeakBytes)
	sum(&u.CPU, other.CPU)
	sum(&u.ReadBytes, other.ReadBytes)
	sum(&u.WriteBytes, other.WriteBytes)
	sum(&u.PIDs, other.PIDs)
	u.OOMKills += other.OOMKills
}

func sum[T int | int64 | time.Duration](to **T, by *T) {
	switch {
	case by == nil:
	case *to == nil:
		*to = new(*by)
	default:
		*to = new(**to + *by)
	}
}

// Group is one control group: in version 2 a folder, in version 1 one in each hierarchy. It can be written as JSON.
type Group struct {
	Version Kind              `json:"version"`
	Dirs    map[string]string `json:"dirs"` // absolute, by controller; of version 2 all are the same
}

// Has reports whether the group has a controller. It may be called on nil.
func (g *Group) Has(controller string) bool {
	return g != nil && g.Dirs[controller] != ""
}

// CanFreeze reports whether Freeze can stop the group's processes. It may be called on nil.
func (g *Group) CanFreeze() bool { return g != nil && (g.Version == V2 || g.Has(Freezer)) }

// Name returns the group's name, as Tree.Create got it; "" for nil.
func (g *Group) Name() string {
	if g == nil || len(g.Dirs) == 0 {
		return ""
	}
	return filepath.Base(g.dirs()[0])
}

// dirs returns the group's folders, each once.
func (g *Group) dirs() []string { return slices.Compact(slices.Sorted(maps.Values(g.Dirs))) }

// Support says which groups a server can make.
type Support struct {
	Kind        Kind
	Controllers []string // that runs get, sorted
	Missing     []string // of Memory, PIDs, CPU and IO
	Reason      string   // why something is missing; "" if nothing is
	Advice      string   // what to do about it
}

// String says it in one line.
func (s Support) String() string {
	text := "cgroup " + string(s.Kind)
	if s.Kind == None {
		text = "no control groups"
	} else {
		text += " with " + strings.Join(s.Controllers, ", ")
	}
	if len(s.Missing) > 0 && s.Kind != None {
		text += "; missing: " + strings.Join(s.Missing, ", ")
	}
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	return text
}

// limiting are the controllers whose absence is worth a word.
func limiting() []string { return []string{Memory, PIDs, CPU, IO} }

// newSupport makes the answer for a tree that has these controllers.
func newSupport(kind Kind, has func(string) bool, reason, advice string) Support {
	s := Support{Kind: kind}
	for _, c := range limiting() {
		if has(c) {
			s.Controllers = append(s.Controllers, c)
		} else {
			s.Missing = append(s.Missing, c)
		}
	}
	slices.Sort(s.Controllers)
	if len(s.Missing) > 0 {
		s.Reason, s.Advice = reason, advice
	}
	return s
}

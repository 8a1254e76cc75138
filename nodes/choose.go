package nodes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Chooses the server on which a profile starts that no server has yet.

// Wish is what a profile needs of its server.
type Wish struct {
	Labels  map[string]string // the server has all of them
	Version string            // of the browser that the profile declares, such as "156"; "": any
}

// WishOf returns what a profile needs.
func WishOf(row store.Profile) (Wish, error) {
	placement := struct {
		Labels map[string]string `json:"labels"`
	}{}
	if row.Placement != nil {
		if err := json.Unmarshal([]byte(*row.Placement), &placement); err != nil {
			return Wish{}, fmt.Errorf("the placement of profile %s: %w", row.ID, err)
		}
	}
	return Wish{placement.Labels, row.BrowserVersion}, nil
}

// pressureBand is the difference of pressure, in percent, that counts for a choice.
const pressureBand = 10

// retryChoice is when a choice that found no server may be tried again: pressure and room are reported with each beat.
const retryChoice = 5 * time.Second

// Choose returns the servers that may take a profile which no server has yet, the best first. They are up and not draining, and have a
// browser, all labels of the wish, and room. Servers with the declared version come first, then those under less pressure, then those
// with fewer busy profiles; equal ones are in random order. If there is none, the error is no_server and says why for each server. This
// server is returned in any case if no other one serves and it has the labels.
func (n *Node) Choose(ctx context.Context, want Wish) ([]Info, error) {
	all, err := n.List(ctx)
	if err != nil {
		return nil, err
	}
	busy, err := n.busy(ctx)
	if err != nil {
		return nil, err
	}
	return choose(all, busy, want)
}

// busy counts the profiles that start, run or stop on each server, by its id. It counts starts since the last beats too.
func (n *Node) busy(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	if n.store == nil {
		return out, nil
	}
	rows, err := n.store.Read().CountBusyProfiles(ctx)
	for _, row := range rows {
		out[*row.NodeID] = row.Busy
	}
	return out, err
}

// choose is Choose with what the database has.
func choose(all []Info, busy map[string]int64, want Wish) ([]Info, error) {
	var good []Info
	var why []string
	for _, one := range all {
		if reason := unfit(one, busy[one.ID], want); reason != "" {
			why = append(why, one.Name+" "+reason)
		} else {
			good = append(good, one)
		}
	}
	up := slices.DeleteFunc(slices.Clone(all), func(one Info) bool { return one.State != Up })
	switch alone := len(up) == 1 && up[0].Self && unlabelled(up[0], want) == ""; {
	case len(good) == 0 && alone:
		return up, nil // what it says itself tells more, such as how a browser is installed
	case len(good) == 0:
		return nil, NoServer(why)
	}
	rand.Shuffle(len(good), func(i, j int) { good[i], good[j] = good[j], good[i] })
	slices.SortStableFunc(good, func(a, b Info) int {
		return cmp.Or(cmp.Compare(missing(a, want.Version), missing(b, want.Version)),
			cmp.Compare(band(a, busy[a.ID]), band(b, busy[b.ID])),
			cmp.Compare(busy[a.ID], busy[b.ID]))
	})
	return good, nil
}

// unfit says why a server cannot take a profile; "": it can.
func unfit(one Info, busy int64, want Wish) string {
	switch {
	case one.State == Stopped:
		return "is stopped"
	case one.State != Up:
		return fmt.Sprintf("is unreachable, last seen %s ago", one.Seen.Round(time.Second))
	case one.Draining:
		return "is draining"
	case len(one.Browsers) == 0:
		return "has no browser"
	}
	if reason := unlabelled(one, want); reason != "" {
		return reason
	}
	if one.Capacity > 0 && busy >= one.Capacity {
		return fmt.Sprintf("has no room: %d of %d browsers run", busy, one.Capacity)
	}
	return ""
}

// unlabelled says which label of a wish a server does not have; "": it has all.
func unlabelled(one Info, want Wish) string {
	for _, key := range slices.Sorted(maps.Keys(want.Labels)) {
		wanted := want.Labels[key]
		switch has, there := one.Labels[key]; {
		case !there:
			return fmt.Sprintf("has no label %s, which must be %q", key, wanted)
		case has != wanted:
			return fmt.Sprintf("has the label %s %q, not %q", key, has, wanted)
		}
	}
	return ""
}

// missing is 1 for a server without a browser of a major version, else 0.
func missing(one Info, major string) int {
	has := func(b Browser) bool { return b.Version == major || strings.HasPrefix(b.Version, major+".") }
	if major == "" || slices.ContainsFunc(one.Browsers, has) {
		return 0
	}
	return 1
}

// band is how busy a server is in steps. A start since its last beat counts as one percent, so that many starts within a beat spread.
func band(one Info, busy int64) int64 {
	return (one.Pressure + max(0, busy-one.Running)) / pressureBand
}

// NoServer is the error of a start for which there is no server. why has a part of a sentence for each.
func NoServer(why []string) *problem.Error {
	return problem.New(problem.Unavailable, "no_server", "No server can take this profile: "+strings.Join(why, "; ")+
		". Start, undrain or add a server that can, or change the profile's placement.").After(retryChoice)
}

// pressureOf is how busy a server is, in percent: what it has least of, processor, memory or room for runs.
func pressureOf(p runs.Pressure) int64 {
	most := 0.0
	if p.CPU.Percent != nil {
		most = *p.CPU.Percent
	}
	if m := p.Memory; m != nil && m.TotalBytes > 0 {
		most = max(most, 100*(1-float64(m.AvailableBytes)/float64(m.TotalBytes)))
	}
	if p.MaxRunning != nil && *p.MaxRunning > 0 {
		most = max(most, 100*float64(p.Running)/float64(*p.MaxRunning))
	}
	return int64(min(max(most, 0), 100))
}

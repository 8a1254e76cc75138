package main

import (
	"context"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// This file writes down how runs and starts ended. What cannot be written, as on a full disk, is owed: it counts at once, and is written later.

// owedEnd is what could not be written of a profile: how a run ended, or what it is since its start came to nothing.
type owedEnd struct {
	name   string       // of the run's files
	last   *lastRunJSON // nil: the status alone
	status string       // where last is nil
	past   bool         // a later run's end is written already: the profile's own status and last run are that one's
}

// atRest is what the database says of a profile without a run. Where there is no run nothing is under way, whatever was written last: the start or
// the stop came to nothing, and the profile is what its last run left it.
func atRest(row store.Profile) string {
	if row.Status != "starting" && row.Status != "stopping" {
		return row.Status
	}
	var last lastRunJSON
	if row.LastRun != nil && json.Unmarshal([]byte(*row.LastRun), &last) == nil && last.Status == "failed" {
		return "failed"
	}
	return "stopped"
}

// owedStatus is what a profile without a run is; resting is what the database says.
func owedStatus(owed []*owedEnd, resting string) string {
	for i := len(owed) - 1; i >= 0; i-- {
		switch o := owed[i]; {
		case o.past:
		case o.last == nil:
			return o.status
		default:
			return o.last.Status
		}
	}
	return resting
}

// owedLast is the end of a run that could not be written yet; nil when there is none.
func (rs *runs) owedLast(profileID, runID string) *lastRunJSON {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, o := range rs.owed[profileID] {
		if o.last != nil && o.last.RunID == runID {
			return o.last
		}
	}
	return nil
}

// bury records how a run or its start ended, then lets go of it.
func (rs *runs) bury(r *profileRun, last *lastRunJSON) {
	rs.settle(r.profileID, &owedEnd{name: r.name, last: last})
	r.last = last
	rs.leave(r)
}

// settle writes what became of a profile's run. Should that not get on disk, it is tried again later, and the shim's own report stays for
// the next server.
func (rs *runs) settle(profileID string, o *owedEnd) {
	if rs.pay(profileID, o) == nil {
		rs.paid(profileID, o)
		return
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.owed[profileID] = append(rs.owed[profileID], o)
}

// paid takes out what has been written. What is owed from before it is older: it must not be written over it.
func (rs *runs) paid(profileID string, o *owedEnd) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var left []*owedEnd
	older := true
	for _, x := range rs.owed[profileID] {
		switch {
		case x == o:
			older = false
			continue
		case older && !o.past && x.last == nil: // of starts that came to nothing the newest word is enough
			continue
		case older && !o.past && o.last != nil:
			x.past = true
		}
		left = append(left, x)
	}
	if rs.owed[profileID] = left; len(left) == 0 {
		delete(rs.owed, profileID)
	}
}

// pay writes one thing that is owed, and then forgets the run's files.
func (rs *runs) pay(profileID string, o *owedEnd) error {
	var err error
	switch {
	case o.last == nil:
		err = rs.recordStatus(profileID, o.status)
	case o.past:
		err = rs.record(func(ctx context.Context, q *store.Queries) error { return endAndTrim(ctx, q, profileID, o.last) })
	default:
		err = rs.recordEnd(profileID, o.last)
	}
	if err == nil && o.name != "" {
		shim.Forget(rs.dir, o.name)
	}
	return err
}

// keptRuns is how many runs of a profile its history holds.
const keptRuns = 100

// recordEnd writes how a run ended, and forgets the oldest ones.
func (rs *runs) recordEnd(profileID string, last *lastRunJSON) error {
	text, err := json.Marshal(last)
	if err != nil {
		return err
	}
	bytes := folderBytes(rs.profileDir(profileID))
	return rs.record(func(ctx context.Context, q *store.Queries) error {
		if err := endAndTrim(ctx, q, profileID, last); err != nil {
			return err
		}
		_, err := q.SetProfileStatus(ctx, store.SetProfileStatusParams{ID: profileID, Status: last.Status, LastRun: new(string(text)), DiskBytes: &bytes})
		return err
	})
}

func endAndTrim(ctx context.Context, q *store.Queries, profileID string, last *lastRunJSON) error {
	if err := endRun(ctx, q, last); err != nil {
		return err
	}
	_, err := q.TrimRunsOfProfile(ctx, store.TrimRunsOfProfileParams{ProfileID: profileID, Keep: keptRuns})
	return err
}

// payOwed writes what could not be written when it came: one profile's, which its new run's owner asks for before it starts, or with "" that of
// all that do not run.
func (rs *runs) payOwed(profileID string) {
	rs.paying.Lock() // a start waits for the sweep, whose word would else come after its own
	defer rs.paying.Unlock()
	rs.mu.Lock()
	due := map[string][]*owedEnd{}
	for id, all := range rs.owed {
		if id == profileID || profileID == "" && rs.byProfile[id] == nil {
			due[id] = all
		}
	}
	rs.mu.Unlock()
	for id, all := range due {
		for _, o := range all {
			if rs.pay(id, o) == nil {
				rs.paid(id, o)
			}
		}
	}
}

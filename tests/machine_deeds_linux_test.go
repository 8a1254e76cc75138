package tests

import (
	"errors"
	"fmt"
	"slices"

	"warren/store"
)

// What a machine must still know after its power failed, as lines that outlive it.

// What was done to a profile.
const (
	didCreate   = "created"
	didChange   = "changed"
	didStart    = "started"
	didKeep     = "kept"
	didRollBack = "rolled back"
	didClone    = "cloned"
	didImport   = "imported"
	didBackUp   = "backed up"
	didTrash    = "trashed"
	didRestore  = "restored"
	didPurge    = "purged"
)

// deed is a line about one request: it begins, or it was answered.
type deed struct {
	Done     bool     `json:"done,omitempty"`
	What     string   `json:"what"`
	Profile  string   `json:"profile,omitempty"`
	Text     string   `json:"text,omitempty"` // of the profile's notes or data
	Snapshot string   `json:"snapshot,omitempty"`
	Backup   string   `json:"backup,omitempty"`
	Made     []string `json:"made,omitempty"` // profiles
}

// ledger is what all deeds come to.
type ledger struct {
	profiles map[string]*known
	backup   string // the newest
}

// known is a profile as it must be. A request that was not answered was done, or was not: then there are two possibilities.
type known struct {
	made          int
	gone, mayGone bool
	notes         []string // none: any
	data          []string // none: any
	trashed       []bool
	ran           bool
	snapshots     map[string]string // text by id
}

// after is what may be: also the new value once a request begins, and only that once it is answered.
func after[T any](before []T, d deed, value T) []T {
	if d.Done {
		return []T{value}
	}
	return append(slices.Clone(before), value)
}

// note adds a line. It has a case for each kind, and reads best as one.
func (l *ledger) note(d deed) {
	add := func(id string, notes, data []string) {
		l.profiles[id] = &known{made: len(l.profiles), notes: notes, data: data, trashed: []bool{false}, snapshots: map[string]string{}}
	}
	k := l.profiles[d.Profile]
	switch d.What {
	case didCreate:
		if d.Done {
			add(d.Profile, []string{d.Text}, nil)
		}
	case didChange:
		k.notes = after(k.notes, d, d.Text)
	case didStart:
		k.ran = k.ran || d.Done
	case didKeep:
		k.data = nil // the browser's writes are nothing that was acknowledged
		if d.Done {
			k.data, k.snapshots[d.Snapshot] = []string{d.Text}, d.Text
		}
	case didRollBack:
		k.data = after(k.data, d, d.Text)
	case didClone, didImport:
		for _, id := range d.Made {
			add(id, nil, []string{d.Text})
		}
	case didBackUp:
		if d.Done {
			l.backup = d.Backup
		}
	case didTrash, didRestore:
		k.trashed = after(k.trashed, d, d.What == didTrash)
	case didPurge:
		k.mayGone, k.gone = true, k.gone || d.Done
	}
}

// alive returns the profiles that are there, the oldest first.
func (l *ledger) alive() (out []string) {
	for id, k := range l.profiles {
		if !k.mayGone {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return l.profiles[a].made - l.profiles[b].made })
	return out
}

// holds looks at each fact about a profile.
func (k *known) holds(r *recovered, id string, fact func(what string, err error)) {
	if k.gone {
		fact("deleted for good: "+id, r.hasNothing(id))
		return
	}
	if k.mayGone {
		return // what is left of it, if anything, is in any state until the server starts
	}
	p, err := r.store.Read().GetProfileAny(r.t.Context(), store.GetProfileAnyParams{ID: id})
	fact("the profile "+id, err)
	if err != nil {
		return
	}
	if len(k.notes) > 0 {
		fact("the notes of "+id, oneOf(p.Notes, k.notes))
	}
	fact("in the trash or not: "+id, oneOf(p.Trashed, k.trashed))
	if k.ran {
		fact("a run of "+id, r.hasRun(id))
	}
	for snapshot, text := range k.snapshots {
		fact("the snapshot "+snapshot, r.hasSnapshot(id, snapshot, text))
	}
	if len(k.data) > 0 {
		_, err := r.Prepare(r.t.Context(), p)
		var found []error
		for _, text := range k.data {
			failed := r.holdsText(id, text)
			if failed == nil {
				found = nil
				break
			}
			found = append(found, failed)
		}
		fact("the data of "+id, errors.Join(append(found, err)...))
	}
}

func oneOf[T comparable](got T, want []T) error {
	if slices.Contains(want, got) {
		return nil
	}
	return fmt.Errorf("it is %v, not one of %v", got, want)
}

package tests

import (
	"fmt"
	"strings"
)

type snapshotView struct {
	ID, Name, Reason, BrowserVersion string
	Pinned, Current                  bool
	Bytes, NewBytes                  int64
}

// snapshots lists a profile's snapshots, newest first.
func (s *liveServer) snapshots(id string) []snapshotView {
	s.t.Helper()
	var v struct{ Data []snapshotView }
	s.do("GET", "/profiles/"+id+"/snapshots", nil, 200, &v)
	return v.Data
}

// hostileName is a snapshot's name that would run a script if the page took it for markup.
const hostileName = `<img src=x onerror="window.hit=1"> signed in`

// snapshotsByHand: snapshots show up when they are made, without a reload. A person keeps, pins and renames one, and goes back to it; one
// is kept while the browser goes on.
// A browser that has started meanwhile is not rolled back under: the dialog says so, and offers to stop it first.
func (h *byHand) snapshotsByHand() {
	at := "/profiles/" + h.profileID
	h.drawer(at, "Snapshots", "After a stop", "Current", "of it new")
	h.start(h.profileID, nil) // it waits for the snapshot of the stop before
	const rows = "document.querySelectorAll('.drawer .snapshot').length"
	h.reads(".drawer .drawer-below", "Running")
	h.clicks("Keep a snapshot")
	h.reads("dialog button", "Close, keep and start again")
	h.writes("dialog input[name=name]", "Meanwhile")
	h.eval("document.querySelector('dialog select').value = 'live'")
	h.eval("document.querySelector('dialog select').dispatchEvent(new Event('change', { bubbles: true }))")
	h.wantNames("a snapshot of a running profile")
	h.clicks("Keep")
	h.reads(".drawer .snapshot:first-child", "Meanwhile Kept while it ran")
	before := h.snapshots(h.profileID)
	h.until(fmt.Sprintf("%s === %d", rows, len(before)))
	h.stop(h.profileID)
	h.until(fmt.Sprintf("%s === %d", rows, len(before)+1))
	h.reads(".drawer .snapshot:first-child", "After a stop Current just now")
	h.reads(".drawer .drawer-below", "Stopped") // which the page may hear of later than of the snapshot

	h.clicks("Keep a snapshot")
	h.writes("dialog input[name=name]", "Signed in")
	h.clicks("Pin it")
	h.wantNames("a snapshot to keep")
	h.clicks("Keep")
	h.reads(".drawer .snapshot:first-child", "Signed in Current Kept by hand")
	kept := h.snapshots(h.profileID)[0]
	if !kept.Pinned || kept.Name != "Signed in" || kept.Reason != "asked" {
		h.person.t.Errorf("the page kept %+v", kept)
	}
	h.clicks("More for Signed in")
	h.clicks("Rename")
	h.writes("dialog input[name=name]", hostileName)
	h.clicks("Save")
	h.reads(".drawer .snapshot:first-child", hostileName)
	h.clicks("Pin " + hostileName)
	h.until("document.querySelector('.drawer .snapshot:first-child [aria-pressed=false]')")
	if h.snapshots(h.profileID)[0].Pinned {
		h.person.t.Error("the snapshot is still pinned")
	}
	h.wantNames("snapshots")
	h.rolledBack(kept.ID)
	if h.eval("Boolean(window.hit || document.querySelector('.drawer img, dialog img'))") != "false" {
		h.person.t.Error("a snapshot's name became markup")
	}
}

// rolledBack goes back to a snapshot. The browser starts while the page asks.
func (h *byHand) rolledBack(id string) {
	h.person.t.Helper()
	h.clicks("Keep a snapshot") // the one that it goes back to is not the current one any more
	h.clicks("Keep")
	h.until("document.querySelector('.snapshot:first-child .mark') && !document.querySelector('.snapshot:nth-child(2) .mark')")
	h.clicks("Roll back to " + hostileName)
	h.reads("dialog", "What is there now is kept as a snapshot first.")
	h.start(h.profileID, nil)
	h.clicks("Roll back")
	h.reads("dialog .problem", "The profile is running")
	h.reads("dialog", "Its browser is running. It has to be stopped first.")
	h.wantNames("a roll-back of a running profile")
	if got := h.get(h.profileID).Status; got != "running" {
		h.person.t.Errorf("before the person has answered the profile is %s", got)
	}
	h.clicks("Stop and roll back")
	h.until("!document.querySelector('dialog')")
	h.reads(".toast", "Shop is rolled back. What was there before is kept as a snapshot.")
	h.reads(".drawer .snapshot:first-child", "Before a roll-back")
	h.reads(".drawer .snapshot:has(.mark)", hostileName)
	for _, one := range h.snapshots(h.profileID) {
		if one.Current != (one.ID == id) {
			h.person.t.Errorf("after the roll-back: %+v", one)
		}
	}
	h.clicks("More for " + hostileName)
	h.clicks("Delete")
	h.clicks("Delete")
	h.until(fmt.Sprintf("!document.querySelector('dialog') && !document.body.innerText.includes(%q)", hostileName))
}

// offersTemporary: the form of a profile offers only what the server would take.
func (h *byHand) offersTemporary(want bool) {
	h.person.t.Helper()
	h.clicks("More for this profile")
	h.clicks("Edit")
	h.until("document.querySelector('dialog [name=maxRunMs]')")
	h.until(fmt.Sprintf("Boolean(document.querySelector('dialog [name=temporary]')) === %t", want))
	h.clicks("Cancel")
	h.until("!document.querySelector('dialog')")
}

// clonesByHand: two clones with data are in the list when they are made. They are temporary, which the list and the drawer say, until
// somebody keeps one. A profile that has never run has no data to offer.
func (h *byHand) clonesByHand() {
	h.clicks("More for this profile")
	h.clicks("Clone")
	h.reads("dialog", "Sites see the same user in each clone.")
	h.writes("dialog input[name=count]", "2")
	h.reads("dialog", "Write {n} where the number of each goes.")
	h.writes("dialog input[name=name]", "Twin {n}")
	h.clicks("With logins and data")
	h.clicks("Temporary")
	h.wantNames("clones")
	h.clicks("Clone")
	h.reads(".toast", "Created 2 profiles With the same settings and data.")
	h.until("document.querySelectorAll('.row .temporary').length === 2")
	var list struct {
		Data []struct {
			ID, Name  string
			Temporary bool
		}
	}
	h.do("GET", "/profiles?search=twin", nil, 200, &list)
	if len(list.Data) != 2 {
		h.person.t.Fatalf("the clones are %+v", list.Data)
	}
	for _, twin := range list.Data {
		all := h.snapshots(twin.ID)
		if !twin.Temporary || !strings.HasPrefix(twin.Name, "Twin ") || len(all) != 1 || all[0].Reason != "clone" {
			h.person.t.Errorf("the clone %+v has the snapshots %+v", twin, all)
		}
	}
	first, at := list.Data[0].ID, "/profiles/"+list.Data[0].ID
	h.drawer(at, "Snapshots", "Start of this clone", "Current")
	h.reads(".drawer-note", "it is deleted with its data when its run ends")
	h.offersTemporary(true)
	h.clicks("Keep it")
	h.until("!document.querySelector('.drawer-note') && document.querySelectorAll('.row .temporary').length === 1")
	h.offersTemporary(false)
	h.do("GET", at, nil, 200, &list.Data[0])
	if list.Data[0].Temporary {
		h.person.t.Error("the clone is still temporary")
	}
	for _, twin := range list.Data {
		h.do("DELETE", "/profiles/"+twin.ID+"?permanent=true", nil, 204, nil)
	}
	h.reads(".drawer .problem", "This profile no longer exists")
	if h.eval("document.querySelector('.drawer').innerText.includes('Start')") != "false" {
		h.person.t.Errorf("%s is deleted, and can still be started", first)
	}
	fresh := h.profile(map[string]any{"name": "Fresh"})
	h.drawer("/profiles/"+fresh, "Snapshots", "It has never run, so it has no data yet.")
	h.clicks("More for this profile")
	h.clicks("Clone")
	h.reads("dialog", "It has never run, so it has no data yet.")
	h.until("document.querySelector('dialog input[name=data]').disabled")
	h.presses("Escape")
	h.do("DELETE", "/profiles/"+fresh+"?permanent=true", nil, 204, nil)
}

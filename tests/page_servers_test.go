package tests

import (
	"fmt"
	"testing"
)

// TestPageOfServers: the page of any server shows where each profile is, and works with all of them: the live view, pictures, files. A
// person drains a server, and removes one that is gone.
func TestPageOfServers(t *testing.T) {
	t.Parallel()
	all := cluster(t, "", 3)
	id := all[0].profile(map[string]any{"name": "Shop"})
	owner, others := ownerOf(t, all, id)
	asked, gone := others[0], others[1]
	at, off := owner.node().Name, gone.node()
	kept := all[0].profile(map[string]any{"name": "Kept"})
	asked.do("POST", "/nodes/"+owner.node().ID+"/drain", nil, 200, nil)
	asked.do("POST", "/nodes/"+asked.node().ID+"/drain", nil, 200, nil)
	gone.start(kept, nil)
	gone.stop(kept)
	asked.do("POST", "/nodes/"+owner.node().ID+"/undrain", nil, 200, nil)
	asked.do("POST", "/nodes/"+asked.node().ID+"/undrain", nil, 200, nil)
	asked.saves(id, asked.start(id, nil), "kept.txt", "from elsewhere")

	p := asked.opensPage(t, "#/profiles")
	p.reads(".grid-head", "Server")
	p.reads(".row.is-running .cell-server", at)
	p.until("document.querySelector('.row.is-running .preview:not(.is-empty) canvas')")
	p.clicks("Add a filter")
	p.clicks(off.Name)
	p.until("document.querySelectorAll('.row[data-id]').length === 1")
	p.reads(".row .title", "Kept")
	p.wantNames("the profiles of a server")

	p.goes("#/profiles/" + id)
	p.reads(".drawer dl", "Server "+at)
	p.goes("#/profiles/" + id + "/data")
	p.reads(".drawer", "kept.txt")
	p.clicks("Save kept.txt")
	p.until("!document.querySelector('dialog') && document.querySelector('[aria-label=\"Save kept.txt\"]')?.disabled === false")
	p.goes("#/live?profile=" + id)
	p.until("document.querySelector('.typing')?.disabled === false && !document.querySelector('canvas').hidden")

	p.goes("#/settings/servers")
	p.until("document.querySelectorAll('.row[data-id] .cell-state').length === 3")
	p.reads(fmt.Sprintf(".row[data-id=%q]", asked.node().ID), "This page")
	p.reads(fmt.Sprintf(".row[data-id=%q] .cell-running", owner.node().ID), "1")
	p.wantNames("the servers")
	drainedByHand(p, owner)
	removedByHand(p, gone, off, kept)
	asked.stop(id)
}

// drainedByHand drains a server that is up, and lets it take starts again.
func drainedByHand(p *person, s *liveServer) {
	p.t.Helper()
	n := s.node()
	p.clicks("Drain " + n.Name)
	p.reads("dialog h2", "Drain this server?")
	p.wantNames("a drain")
	p.clicks("Drain")
	p.reads(fmt.Sprintf(".row[data-id=%q] .cell-state", n.ID), "Draining")
	p.clicks("Undrain " + n.Name)
	p.reads(fmt.Sprintf(".row[data-id=%q] .cell-state", n.ID), "Up")
}

// removedByHand ends a server, and removes it with the data of its profile, which then has no server.
func removedByHand(p *person, s *liveServer, n nodeView, profile string) {
	p.t.Helper()
	row := fmt.Sprintf(".row[data-id=%q]", n.ID)
	s.end()
	p.reads(row+" .cell-state", "Stopped")
	p.goes("#/profiles/" + profile)
	p.reads(".drawer .notice", "Its data are on the server "+n.Name+", which is stopped.")
	p.clicks("Start")
	p.reads("dialog .problem", "The profile’s data are on another server")
	p.clicks("Close")
	p.goes("#/settings/servers")
	p.clicks("More for " + n.Name)
	p.clicks("Remove")
	p.reads("dialog", "It has the data of 1 profile.")
	p.wantNames("a removal")
	p.clicks("Give up the data. The profiles start anew on other servers, without their logins.")
	p.clicks("Remove")
	p.until(fmt.Sprintf("!document.querySelector('dialog') && document.querySelectorAll('.row[data-id]').length === 2 && "+
		"!document.querySelector(%q)", row))
	p.goes("#/profiles/" + profile)
	p.reads(".drawer", "None yet: its first start chooses one")
}

// TestPageOfOneServer: where there is one server, the page says nothing of servers.
func TestPageOfOneServer(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	p := s.opensPage(t, "#/profiles/"+s.profile(map[string]any{"name": "Alone"}))
	p.reads(".drawer h2", "Alone")
	p.goes("#/settings/server")
	p.reads(".settings", "This server")
	seen := p.eval("String([...document.querySelectorAll('.settings-nav a')].some((it) => it.innerText === 'Servers'))")
	if seen != "false" {
		t.Error("the settings have a list of servers")
	}
	p.goes("#/profiles")
	p.reads(".row .title", "Alone")
	if head := p.eval("document.querySelector('.grid-head').innerText.includes('Server') ? 'yes' : 'no'"); head != "no" {
		t.Error("the list has a column for servers")
	}
}

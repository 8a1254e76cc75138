package tests

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestPageByHand: a person goes through the page of a server that is empty at first. Every tab of a drawer and every section of the
// settings has an address, and shows what the server really has.
func TestPageByHand(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	g.world.comesOut(func() string { return `"country":"DE","timezone":"Europe/Berlin"` })
	s := g.serve("--webhook-allow-private=yes")
	h := &byHand{liveServer: s, person: s.opensPage(t, "#/profiles")}
	for _, part := range []struct {
		name string
		see  func()
	}{
		{"the first run", h.firstRun}, {"a profile's drawer", h.profileDrawer}, {"archives", h.archivesByHand},
		{"snapshots", h.snapshotsByHand}, {"clones", h.clonesByHand}, {"a proxy's drawer", h.proxyDrawer},
		{"the settings", h.settings}, {"a list", h.views}, {"templates", h.templatesByHand},
		{"schedules", h.schedulesByHand}, {"webhooks", h.webhooksByHand}, {"quotas", h.quotasByHand}, {"placement", h.placementByHand},
		{"limits", h.limitsByHand},
		{"the audit log", h.auditByHand},
		{"the proxy dies", h.proxyDies}, {"the key is revoked", h.keyRevoked},
	} {
		if !t.Run(part.name, func(t *testing.T) { h.is(t); part.see() }) {
			break // what follows needs it
		}
	}
	h.is(t)
}

// byHand is the person, the server, and what they made.
type byHand struct {
	*liveServer
	*person
	profileID, proxyID string
	run                runView
}

func (h *byHand) is(t testing.TB) {
	h.person.is(t)
	h.liveServer.t = t
}

// firstRun: a proxy is pasted, a bad one is explained, and "Create and start" leads to a browser.
func (h *byHand) firstRun() {
	h.reads(".first h2", "Set up your first profile")
	h.wantNames("the first run")
	h.writes(".first textarea", "127.0.0.1:99999:visitor:secret")
	h.reads(".box-outcome", "1 not readable")
	h.reads(".box-lines", "Line 1")
	h.reads(".box-lines", "65535")
	h.writes(".first textarea", fmt.Sprintf("127.0.0.1:%d:%s:%s", h.proxy.Port(), h.proxy.User, h.proxy.Password))
	h.reads(".box-sum", "1 proxy to add")
	h.clicks("Add proxy")
	h.reads(".first-done", h.proxy.Exit)
	h.writes(".first input[name=name]", "Shop")
	h.wantNames("the second step")
	h.clicks("Create and start")
	h.reads(".toast", "Shop is running. View Connect")
	h.clicks("Connect")
	h.reads("dialog", "CDP over WebSocket")
	h.wantNames("how to connect")
	h.clicks("Done")
	h.reads(".row .status", "Running")
	var list struct{ Data []profileView }
	h.do("GET", "/profiles", nil, 200, &list)
	h.profileID = list.Data[0].ID
	h.run = h.start(h.profileID, nil)
	h.person.goes("#/live?profile=" + h.profileID)
	h.until("document.querySelector('.typing')?.disabled === false && document.querySelector('.live-name').innerText.includes('Shop')")
	h.wantNames("the live view")
	h.saves(h.profileID, h.run, "report.txt", "what was saved")
	c := dialCDP(h.person.t, h.run.WsEndpoint, nil)
	c.open(h.world.url("/shop"))
	h.world.await(h.person.t, "/shop", 1)
	h.stop(h.profileID)
}

// drawer opens a tab by its address, and wants its texts there.
func (h *byHand) drawer(path, tab string, texts ...string) {
	h.person.t.Helper()
	h.person.goes("#" + path + "/" + strings.ToLower(tab))
	h.until(fmt.Sprintf("document.querySelector('.drawer [role=tab][aria-selected=true]')?.innerText === %q", tab))
	for _, text := range texts {
		h.reads(".drawer-body", text)
	}
	h.wantNames(path + ", " + tab)
}

func (h *byHand) profileDrawer() {
	at := "/profiles/" + h.profileID
	h.drawer(at, "Overview", h.proxy.Exit, "Stopped", "default", h.profileID)
	h.drawer(at, "Identity", "What pages would see", "Europe/Berlin", "From the proxy")
	h.identitySaved(at)
	h.drawer(at, "Network", "Allowed hosts", "Traffic", "Received")
	h.until(fmt.Sprintf("document.querySelector('.drawer input[role=combobox]').value.includes('127.0.0.1:%d')", h.proxy.Port()))
	h.drawer(at, "Data", "On disk", "report.txt", "14 B")
	h.clicks("Delete report.txt")
	h.wantNames("a question")
	h.clicks("Delete")
	h.reads(".drawer-body", "No downloads.")
	h.drawer(at, "Runs", "Stopped", h.proxy.Exit)
	h.clicks("Keep a log of the hosts of each run names only, never pages")
	h.until("document.querySelector('.drawer [role=switch]').checked && !document.querySelector('.drawer [role=switch]').disabled")
	h.drawer(at, "Share", "Start the browser to make one.")
	h.drawer(at, "Connect", "The addresses and the code are here while the browser runs.")
	h.clicks("Start")
	h.reads(".drawer-body", "connectOverCDP")
	h.reads(".drawer-body", "CDP over HTTP")
	h.wantNames("how to connect, in the drawer")
	run := h.start(h.profileID, nil)
	c := dialCDP(h.person.t, run.WsEndpoint, nil)
	c.open(h.world.url("/again"))
	h.world.await(h.person.t, "/again", 1)
	h.drawer(at, "Share", "No links.")
	h.writes(".drawer input[name=name]", "Ana")
	h.clicks("Create link")
	h.reads(".drawer .made", "/live#")
	h.reads(".drawer .lines-list", "Ana Watch only")
	h.wantNames("a link")
	h.clicks("Revoke Ana")
	h.clicks("Revoke")
	h.reads(".drawer-body", "No links.")
	h.drawer(at, "Tests", "Run the leak test", "Picture of the page", "Nothing contradicts the proxy.", "What remains visible")
	h.cookiesByHand(at)
	h.stop(h.profileID)
	h.drawer(at, "Runs", "Stopped")
	h.until("document.querySelectorAll('.drawer .run').length === 2 && (document.querySelector('.drawer .run').open = true)")
	h.reads(".drawer .run-body", "site.warren.test")
	h.wantNames("a run")
}

// identitySaved: what is saved goes on the version that was read. Somebody else's change of the same field is shown, and not lost.
func (h *byHand) identitySaved(at string) {
	const field = ".drawer input[name=browserVersion]"
	h.writes(field, "148")
	h.do("PUT", at, map[string]any{"browserVersion": "149"}, 200, nil)
	h.reads(".meanwhile", "changed elsewhere meanwhile")
	h.clicks("Save")
	h.reads(".conflict", "149")
	h.wantNames("a conflict")
	if got := h.get(h.profileID).BrowserVersion; got != "149" {
		h.person.t.Errorf("before the person has chosen the version is %s", got)
	}
	h.eval("document.querySelectorAll('.conflict input[type=radio]')[1].click()")
	h.clicks("Take into the form")
	h.clicks("Save")
	h.until("!document.querySelector('.drawer .form-foot button')")
	if got := h.get(h.profileID).BrowserVersion; got != "148" {
		h.person.t.Errorf("the version is %s", got)
	}
}

func (h *byHand) proxyDrawer() {
	var list struct{ Data []struct{ ID string } }
	h.do("GET", "/proxies", nil, 200, &list)
	h.proxyID = list.Data[0].ID
	at := "/proxies/" + h.proxyID
	h.drawer(at, "Overview", fmt.Sprintf("127.0.0.1:%d", h.proxy.Port()), "SOCKS5", "1 profile", h.proxy.Exit)
	h.clicks("Show the password")
	h.reads(".drawer .secret", h.proxy.Password)
	h.wantNames("a password")
	h.clicks("Check")
	h.drawer(at, "Checks", "Uptime 100 %", "Latency", h.proxy.Exit, "2 checks")
	h.drawer(at, "Profiles", "1 profile uses it", "Shop")
	h.drawer(at, "Traffic", "Received", "By profile", "Shop")
	h.drawer(at, "Rotate", "Rotation address")
	h.writes(".drawer input[name=rotateUrl]", h.world.site.URL+"/rotate")
	h.clicks("Save")
	h.reads(".drawer-body", "Rotate now")
	h.wantNames("a rotation")
}

// section opens a part of the settings by its address, and wants its texts there.
func (h *byHand) section(id string, texts ...string) {
	h.person.t.Helper()
	h.person.goes("#/settings/" + id)
	h.until(fmt.Sprintf("document.querySelector('.settings-nav [aria-current=page]')?.hash === '#/settings/%s'",
		regexp.MustCompile(`^\w+`).FindString(id)))
	for _, text := range texts {
		h.reads(".settings", text)
	}
	h.wantNames("settings, " + id)
}

func (h *byHand) settings() {
	h.section("keys", "This page", "Everything")
	h.clicks("New key")
	h.writes("dialog input[name=name]", "Nightly")
	h.wantNames("a new key")
	h.clicks("Change write Create, change, import and delete profiles and proxies.")
	h.clicks("Create key")
	h.reads("dialog h2", "Created Nightly")
	key := h.eval("document.querySelector('dialog code').innerText")
	h.clicks("Done")
	h.reads(".row", "Nightly")
	h.reads(".row .cell-scopes", "Read, run browsers")
	as := *h.liveServer
	as.token = key
	as.do("GET", "/profiles", nil, 200, nil)
	as.do("POST", "/profiles", map[string]any{"name": "x"}, 403, nil)
	h.clicks("Revoke Nightly")
	h.clicks("Revoke")
	h.reads(".row", "Revoked")
	as.do("GET", "/profiles", nil, 401, nil)

	h.section("workspaces", "default")
	h.clicks("New workspace")
	h.writes("dialog input[name=id]", "team-b")
	h.clicks("Create")
	h.reads(".row", "team-b")
	h.clicks("Edit team-b")
	h.writes("dialog input[name=name]", "Team B")
	h.wantNames("a workspace")
	h.clicks("Save")
	h.reads(".row .title", "Team B")

	h.section("server", "This server", h.data, "Doctor", "--check-url")
	h.section("activity", "created workspace team-b", "renamed workspace team-b to Team B", "read the password of")
	h.section("activity?action=profiles.export", "exported 1 profile with data, not sealed")
	h.section("activity?action=profiles.import", "imported 1 profile with data")
	h.section("activity/events", "A key was created", "A key was revoked", "Workspace team-b was renamed", "The browser of Shop started")
	h.section("appearance", "Theme", "Rows")
	h.clicks("Dark")
	h.clicks("Comfortable")
	h.eval("window.before = true, setTimeout(() => location.reload())")
	h.until("!window.before && document.documentElement.dataset.theme === 'dark' && " +
		"document.querySelectorAll('.settings [aria-pressed=true]').length === 2")
	h.person.goes("#/profiles")
	h.until("document.querySelector('.row[data-id]')?.offsetHeight === 52")
}

// views: each list, its menus and its dialogs have names for all that can be used.
func (h *byHand) views() {
	for _, place := range []string{"running", "trash", "proxies", "profiles"} {
		h.person.goes("#/" + place)
		h.until(fmt.Sprintf("document.querySelector('.places [aria-current=page]')?.hash === '#/%s' && "+
			"!document.querySelector('.waiting, .is-coming')", place))
		h.wantNames(place)
	}
	for _, open := range []struct{ opens, shows string }{{"Add a filter", ".filter-list"},
		{"View: columns, order and density", ".view-menu"}, {"More for Shop", ".menu-item"}} {
		h.clicks(open.opens)
		h.until("document.querySelector('" + open.shows + "')")
		h.wantNames(open.opens)
		h.presses("Escape")
		h.until("!document.querySelector('" + open.shows + "')")
	}
	h.presses("?")
	h.reads("dialog h2", "Keyboard shortcuts")
	h.wantNames("the shortcuts")
	h.presses("Escape")
	h.until("!document.querySelector('dialog')")
}

// proxyDies: the lists show by an event that a proxy is dead, and a start through it asks first.
func (h *byHand) proxyDies() {
	h.person.goes("#/profiles")
	h.reads(".row .cell-proxy", h.proxy.Exit)
	h.proxy.Close()
	h.do("POST", "/proxies/"+h.proxyID+"/check", nil, 200, nil)
	h.reads(".row .cell-proxy", "Nothing answers at this address.")
	h.clicks("Start Shop")
	h.reads("dialog h2", "Start through a dead proxy?")
	h.wantNames("a dead proxy")
	h.clicks("Cancel")
	if got := h.get(h.profileID).Status; got != "stopped" {
		h.person.t.Errorf("before the person has answered the profile is %s", got)
	}
	h.person.goes("#/proxies")
	h.reads(".row .status", "Dead")
}

// keyRevoked: while a form holds something typed, a page whose key is revoked says so, keeps the form, and saves it after another login.
func (h *byHand) keyRevoked() {
	h.person.goes("#/profiles/" + h.profileID + "/identity")
	h.writes(".drawer input[name=browserVersion]", "147")
	h.revokeSessions()
	h.reads("dialog h2", "You are logged out")
	h.reads("dialog", "It may have been revoked")
	h.wantNames("a revoked key")
	h.presses("Escape")
	h.until("!document.querySelector('dialog')")
	h.clicks("Save")
	h.reads("dialog h2", "You are logged out")
	h.writes("dialog input[type=password]", liveKey)
	h.clicks("Log in again")
	h.until("!document.querySelector('dialog') && document.querySelector('.connection.good')")
	if got := h.eval("document.querySelector('.drawer input[name=browserVersion]').value"); got != "147" {
		h.person.t.Errorf("the form has %q", got)
	}
	h.clicks("Save")
	h.until("!document.querySelector('.drawer .form-foot button')")
	if got := h.get(h.profileID).BrowserVersion; got != "147" {
		h.person.t.Errorf("the version is %s", got)
	}
	h.revokeSessions() // with nothing typed the page shows nothing more
	h.until("document.querySelector('.login-card .fault')?.innerText.includes('no longer valid')")
	h.wantNames("the login")
}

// revokeSessions revokes the keys that the page made for itself.
func (h *byHand) revokeSessions() {
	h.person.t.Helper()
	var keys struct {
		Data []struct {
			ID        string
			Session   bool
			RevokedAt *time.Time
		}
	}
	h.do("GET", "/keys", nil, http.StatusOK, &keys)
	for _, key := range keys.Data {
		if key.Session && key.RevokedAt == nil {
			h.do("DELETE", "/keys/"+key.ID, nil, http.StatusNoContent, nil)
		}
	}
}

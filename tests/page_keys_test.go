package tests

import (
	"fmt"
	"strings"
	"testing"
)

// TestPageByKeys: the ten ways that people use most are gone with the keyboard alone. Whatever has the focus is seen and has a name, and
// where a dialog or a menu closes the focus goes on from a sensible place.
func TestPageByKeys(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	for i := range 4 {
		s.profile(map[string]any{"name": fmt.Sprint("Store ", i)})
	}
	p := s.opensPage(t, "#/profiles")
	p.reads(".row .title", "Store 0")
	for _, way := range []struct {
		name string
		try  func(*person, *liveServer)
	}{
		{"make a profile", keysMake}, {"start, view and stop", keysRun}, {"clone", keysClone},
		{"keep a snapshot", keysSnapshot}, {"search", keysSearch}, {"filter", keysFilter},
		{"choose three and tag them", keysTag}, {"rename", keysRename}, {"add a proxy", keysProxy}, {"go to a setting", keysPalette},
	} {
		if !t.Run(way.name, func(t *testing.T) { p.is(t); way.try(p, s) }) {
			break // the ways follow one another
		}
	}
	p.is(t)
}

func keysMake(p *person, _ *liveServer) {
	p.presses("n")
	p.at("textbox Name")
	p.wantNames("a new profile")
	p.types("Keys alone")
	p.tabTo("combobox Proxy")
	p.tabTo("button Create and start")
	p.tabTo("button Create")
	p.presses("Enter")
	p.until("!document.querySelector('dialog')")
	p.reads(".row .title", "Keys alone")
	p.at("heading Profiles")
}

func keysRun(p *person, s *liveServer) {
	p.presses("j")
	p.at("row")
	p.presses("s")
	p.reads(".row .status", "Running")
	p.at("row")
	p.wantNames("a running profile")
	p.presses("v")
	p.until("document.querySelector('.typing')?.disabled === false && !document.querySelector('canvas').hidden")
	p.wantNames("the live view")
	p.at("heading Live view of Keys alone")
	p.tabTo("textbox Address")
	for range 20 {
		if p.presses("Shift+Tab"); strings.HasPrefix(p.focus(), "link Back to the profiles") {
			break
		}
	}
	p.at("link Back to the profiles")
	p.presses("Enter")
	p.reads(".row .title", "Keys alone")
	p.at("heading Profiles")
	p.presses("j")
	p.at("row")
	p.presses("s")
	p.until("!document.querySelector('.row.is-running, .row.is-stopping')")
	p.at("row")
}

func keysClone(p *person, _ *liveServer) {
	p.presses("d")
	p.at("textbox Name")
	p.wantNames("a clone")
	p.until("document.querySelector('dialog [name=data]')?.disabled === false") // the page has asked whether there are any
	p.tabTo("spinbutton How many")
	p.tabTo("checkbox With logins and data")
	p.presses(" ")
	p.tabTo("button Clone")
	p.presses("Enter")
	p.until("!document.querySelector('dialog')")
	p.reads(".row .title", "Keys alone (copy)")
	p.at("row")
}

func keysSnapshot(p *person, _ *liveServer) {
	p.presses("Home", "Enter")
	p.at("heading Keys alone (copy)")
	p.tabTo("tab Overview")
	p.presses("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
	p.at("tab Snapshots")
	p.reads(".drawer .snapshot", "Start of this clone")
	p.tabTo("button Keep a snapshot")
	p.presses("Enter")
	p.at("textbox Name")
	p.types("By keys")
	p.presses("Enter")
	p.reads(".drawer .snapshot", "By keys")
	p.at("button Keep a snapshot")
	p.tabTo("button Pin By keys")
	p.presses("Enter")
	p.until("document.querySelector('.drawer .snapshot [aria-pressed=true]')")
	p.at("button Pin By keys")
	p.tabTo("button Roll back to By keys")
	p.presses("Enter")
	p.at("button Cancel")
	p.presses("Escape")
	p.at("button Roll back to By keys")
	p.tabTo("button More for By keys")
	p.presses("Enter")
	p.at("menuitem Rename")
	p.presses("Escape", "Escape")
	p.until("!document.querySelector('.drawer')")
	p.at("row")
}

func keysSearch(p *person, _ *liveServer) {
	p.presses("/")
	p.at("searchbox Search profiles")
	p.types("store")
	p.until("document.querySelectorAll('.row[data-id]').length === 4")
	p.at("searchbox Search profiles")
}

func keysFilter(p *person, _ *liveServer) {
	p.tabTo("button Add a filter")
	p.presses("Enter")
	p.at("button Stopped")
	p.wantNames("the filters")
	p.presses("Enter")
	p.until("location.hash.includes('status=stopped') && !document.querySelector('.filter-list')")
	p.at("button Add a filter")
}

func keysTag(p *person, _ *liveServer) {
	p.tabTo("row")
	p.presses("Home", " ", "ArrowDown", "ArrowDown", "Shift+ ")
	p.reads(".bulk-count", "3 selected")
	p.wantNames("a selection")
	p.tabTo("button Tag…")
	p.presses("Enter")
	p.tabTo("textbox Tags")
	p.types("vip")
	p.presses("Enter")
	p.wantNames("tags")
	p.tabTo("button Apply")
	p.presses("Enter")
	p.until("document.querySelectorAll('.row .tag').length === 3")
	p.at("heading Profiles") // the bar for the selection is gone
	p.presses("j")
	p.at("row")
}

func keysRename(p *person, _ *liveServer) {
	p.presses("Enter")
	p.at("heading Store")
	p.wantNames("a drawer")
	p.tabTo("button More for this profile")
	p.presses("Enter")
	p.at("menuitem Edit")
	p.wantNames("a menu")
	p.presses("ArrowDown", "ArrowUp", "Enter")
	p.at("textbox Name")
	p.wantNames("a profile's form")
	p.presses("End")
	p.types(" and more")
	p.presses("Enter")
	p.until("!document.querySelector('dialog')")
	p.reads(".drawer h2", "and more")
	p.at("button More for this profile")
	p.presses("Escape")
	p.until("!document.querySelector('.drawer')")
	p.at("row")
}

func keysProxy(p *person, s *liveServer) {
	p.presses("g", "x")
	p.until("document.querySelector('main h1')?.textContent.startsWith('Proxies')")
	p.at("heading Proxies")
	p.presses("n")
	p.at("textbox Paste a proxy")
	p.wantNames("proxies to add")
	p.types(fmt.Sprintf("127.0.0.1:%d:%s:%s", s.proxy.Port(), s.proxy.User, s.proxy.Password))
	p.reads(".box-sum", "1 proxy to add")
	p.presses("Ctrl+Enter")
	p.until("!document.querySelector('dialog')")
	p.reads(".row .status", "Alive")
	p.at("heading Proxies")
}

func keysPalette(p *person, _ *liveServer) {
	p.presses("Ctrl+k")
	p.at("combobox Search and commands")
	p.wantNames("the palette")
	p.types("theme")
	p.until("document.querySelector('.palette-line')?.innerText.includes('Appearance')")
	p.presses("Enter")
	p.until("location.hash === '#/settings/appearance' && document.querySelector('.settings-part')")
	p.at("heading Settings")
	p.tabTo("button Dark")
	p.presses("Enter")
	p.until("document.documentElement.dataset.theme === 'dark'")
	p.at("button Dark")
}

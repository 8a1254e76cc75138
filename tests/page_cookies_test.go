package tests

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// pastedCookies is a file of which one cookie is refused, and one member is of no cookie.
const pastedCookies = `[{"name":"sid","value":"VALUE-1","domain":".shop.example","path":"/","secure":true,"expires":EXPIRES.125,"extra":1},
 {"name":"theme","value":"dark","domain":"shop.example","path":"/"},{"name":"lang","value":"de","domain":"news.example","path":"/"},
 {"name":"__Host-id","value":"x","domain":".shop.example","path":"/","secure":true}]`

type cookieView struct {
	Name, Value, Domain, Path string
	Expires                   float64
	HTTPOnly                  bool
}

// cookiesNow returns the cookies that the profile has of the test's domains, by name.
func (h *byHand) cookiesNow() map[string]cookieView {
	h.person.t.Helper()
	var all []cookieView
	h.do("GET", "/profiles/"+h.profileID+"/cookies?domain=shop.example&domain=news.example", nil, 200, &all)
	out := map[string]cookieView{}
	for _, c := range all {
		out[c.Name] = c
	}
	return out
}

// cookiesByHand: in a running browser, cookies are imported with a refusal, found, changed, added, exported and deleted. A value is seen
// when it is asked for. What the browser has changed meanwhile is not overwritten in silence.
func (h *byHand) cookiesByHand(at string) {
	h.person.t.Helper()
	const rows = "document.querySelectorAll('.cookies .row[data-id]').length"
	h.drawer(at, "Cookies", "They come from the browser that is running.")
	h.clicks("Read the cookies")
	h.reads(".cookies .empty", "No cookies")
	h.imports()
	h.until(rows + " === 3 && !document.querySelector('dialog')")
	if strings.Contains(h.eval("document.body.innerText"), "VALUE-1") {
		h.person.t.Error("a value is seen that nobody has asked for")
	}
	h.wantNames("cookies")
	h.eval("document.activeElement.blur()")
	h.presses("/")
	h.at("searchbox Search cookies")
	h.tabTo("row")
	h.presses("Enter")
	h.at("textbox Name")
	h.presses("Escape")
	h.at("row")
	h.writes(".cookies input[type=search]", "value-1")
	h.until(rows + " === 1")
	h.clicks("Show values")
	h.reads(".cookies .cell-value", "VALUE-1")

	h.edits()
	h.writes(".cookies input[type=search]", "nothing has this")
	h.reads(".cookies .empty", "No matches")
	h.clicks("Show all cookies")
	h.clicks("Add cookie")
	h.writes("dialog input[name=name]", "theme")
	h.writes("dialog input[name=domain]", "shop.example")
	h.clicks("Add")
	h.reads("dialog .fault", "have a cookie with this name already")
	h.writes("dialog input[name=name]", "cart")
	h.wantNames("a cookie to add")
	h.clicks("Add")
	h.reads(".toast", "Added cart of shop.example.")
	h.until(rows + " === 4")

	h.exportsCookies()
	h.eval("document.querySelector('.cookies .row[data-id]').focus()")
	h.presses("End", "Home", "x", "ArrowDown", "ArrowDown", "Shift+X")
	h.reads(".cookies .bulk-count", "3 selected")
	h.presses("Delete") // the row that the keyboard is at
	h.reads("dialog h2", "Delete 1 cookie?")
	h.presses("Escape")
	h.until("!document.querySelector('dialog')")
	h.clicks("Delete")
	h.reads("dialog", "Cookies of news.example, shop.example are deleted.")
	h.wantNames("cookies to delete")
	h.clicks("Delete")
	h.reads(".toast", "Deleted 3 cookies.")
	h.until(rows + " === 1")
	if got := h.cookiesNow(); len(got) != 1 {
		h.person.t.Errorf("the profile has %v", got)
	}
	h.clicks("Undo")
	h.until(rows + " === 4")
	if place := h.eval("location.href"); strings.Contains(strings.ToLower(place), "value-") {
		h.person.t.Errorf("the address has a value: %s", place)
	}
	h.presses("Escape") // nothing is chosen or searched: the drawer closes, and the list goes on
	h.until("!document.querySelector('.drawer')")
	h.at("row Shop")
	h.eval("document.activeElement.blur()")
	h.presses("j") // the list has the keys again
	h.at("row Shop")
	h.drawer(at, "Cookies")
	h.eval("document.activeElement.blur()") // as where the message had it whose button is gone
	h.presses("Escape")
	h.at("row Shop")
}

// imports pastes a file. What it would do is seen before anything changes.
func (h *byHand) imports() {
	h.person.t.Helper()
	h.eval("[...document.querySelectorAll('.cookie-tools button')].find((it) => it.innerText.trim() === 'Import').click()")
	h.writes("dialog textarea", `[{"name":`)
	h.clicks("Try it")
	h.reads("dialog .fault", "The JSON ends too early.")
	h.writes("dialog textarea", strings.ReplaceAll(pastedCookies, "EXPIRES", fmt.Sprint(time.Now().AddDate(0, 0, 300).Unix())))
	h.clicks("Try it")
	h.reads("dialog .cookie-outcome", "3 cookies would be taken: 3 new or changed.")
	h.reads("dialog .cookie-outcome", "Entry 4 __Host-id of .shop.example: A __Host- cookie must be of one host: no domain.")
	h.reads("dialog .cookie-outcome", "extra")
	h.wantNames("an import of cookies")
	if got := h.cookiesNow(); len(got) > 0 {
		h.person.t.Errorf("a trial has set %v", got)
	}
	h.clicks("Import 3 cookies")
	h.reads("dialog h2", "Imported 3 cookies")
	h.reads("dialog .cookie-outcome", "1 refused")
	h.clicks("Done")
}

// edits gives a cookie another name and domain. Refusals stand at their fields, and change nothing. The browser changes it meanwhile.
func (h *byHand) edits() {
	h.person.t.Helper()
	h.clicks("Edit sid")
	h.until("document.querySelector('dialog input[name=value]').type === 'password'")
	h.writes("dialog input[name=name]", "__Host-sid")
	h.wantNames("a cookie")
	h.clicks("Save")
	h.reads("dialog .field:has([name=domain]) .fault", "A __Host- cookie must be of one host")
	h.writes("dialog input[name=domain]", "news.example")
	h.clicks("Sent to subdomains too")
	h.clicks("HttpOnly")
	before := h.cookiesNow()
	h.do("PUT", "/profiles/"+h.profileID+"/cookies", []map[string]any{{"name": "sid", "value": "VALUE-2", "domain": ".shop.example",
		"path": "/", "secure": true, "expires": before["sid"].Expires}}, 200, nil)
	h.clicks("Save")
	h.reads("dialog .problem", "This cookie changed meanwhile")
	if got := h.cookiesNow(); got["sid"].Value != "VALUE-2" || len(got) != 3 {
		h.person.t.Errorf("before the person has answered there are %v", got)
	}
	h.clicks("Save")
	h.reads(".toast", "Saved __Host-sid of news.example.")
	want := cookieView{"__Host-sid", "VALUE-1", "news.example", "/", before["sid"].Expires, true}
	if got := h.cookiesNow(); got["__Host-sid"] != want || len(got) != 3 || want.Expires-math.Floor(want.Expires) != .125 {
		h.person.t.Errorf("the page made %v of %v", got, before)
	}
}

// exportsCookies downloads those of the search's domains for curl, and copies the rest.
func (h *byHand) exportsCookies() {
	h.person.t.Helper()
	folder := filepath.Join(h.dir, "cookies")
	h.person.c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": folder}, nil)
	h.writes(".cookies input[type=search]", "lang")
	h.reads(".cookies .cookie-line", "1 of 4 cookies")
	h.eval("[...document.querySelectorAll('.cookie-tools button')].find((it) => it.innerText.trim() === 'Export').click()")
	h.until("document.querySelector('dialog select')")
	h.eval("document.querySelector('dialog select').value = 'netscape'")
	h.eval("document.querySelector('dialog select').dispatchEvent(new Event('change', { bubbles: true }))")
	h.reads("dialog option", "Of news.example that the search shows, with subdomains")
	h.wantNames("an export of cookies")
	h.clicks("Download")
	var text string
	eventually(h.person.t, "the exported cookies", enough, func() bool {
		found, err := filepath.Glob(filepath.Join(folder, "Shop *cookies.txt"))
		if err != nil || len(found) != 1 {
			return false
		}
		b, err := os.ReadFile(found[0])
		text = string(b)
		return err == nil && text != ""
	})
	if !strings.Contains(text, "\tlang\tde\n") || !strings.Contains(text, "\t__Host-sid\tVALUE-1\n") || strings.Contains(text, "theme") {
		h.person.t.Errorf("the file has %s", text)
	}
	h.reads(".toast", "The format does not have")
	h.until("!document.querySelector('dialog')")
	h.eval("document.querySelector('.cookies input[type=search]').focus()")
	h.presses("Escape") // it clears the search, and the drawer stays
	h.until("document.querySelectorAll('.cookies .row[data-id]').length === 4")
}

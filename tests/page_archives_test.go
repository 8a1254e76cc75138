package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// archivesByHand: a person exports a profile with a passphrase into a file, and imports it again. What is wrong is said beside its field,
// and what does not travel before the dialog is closed. Several chosen profiles go into one file.
func (h *byHand) archivesByHand() {
	h.person.t.Helper()
	folder := filepath.Join(h.dir, "exported")
	h.person.c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": folder}, nil)
	h.eval("delete window.showSaveFilePicker, window.showSaveFilePicker = undefined") // as in browsers whose pages write no files
	h.drawer("/profiles/"+h.profileID, "Snapshots", "Current")
	h.clicks("More for this profile")
	h.clicks("Export")
	h.writes("dialog input[name=passphrase]", "seven77")
	h.clicks("Export")
	h.reads("dialog .fault", "Choose a passphrase of at least 8 letters")
	h.reads("dialog .fault", "The two are not the same.")
	h.wantNames("an export")
	h.eval("document.querySelector('dialog select').value = 'unsealed'")
	h.eval("document.querySelector('dialog select').dispatchEvent(new Event('change', { bubbles: true }))")
	h.reads("dialog", "Whoever gets this file is signed in wherever this profile is")
	h.until("document.querySelector('dialog .primary').disabled")
	h.eval("document.querySelector('dialog select').value = 'passphrase'")
	h.eval("document.querySelector('dialog select').dispatchEvent(new Event('change', { bubbles: true }))")
	const passphrase = "pässphräse ☂" // letters that no header takes by themselves
	h.writes("dialog input[name=passphrase]", passphrase)
	h.writes("dialog input[name=again]", passphrase)
	h.clicks("Export")
	h.reads(".toast", "Exported Shop Keep the passphrase")
	file := h.exportedFile(folder)

	h.person.goes("#/profiles")
	h.clicks("Import")
	h.wantNames("an import")
	h.chooses("dialog input[type=file]", file)
	h.writes("dialog input[name=passphrase]", "another one")
	h.clicks("Import")
	h.reads("dialog .fault", "The passphrase is wrong")
	h.writes("dialog input[name=passphrase]", passphrase)
	h.clicks("Keep their ids")
	h.clicks("Import")
	h.reads("dialog .problem", "This profile is here already")
	h.clicks("Keep their ids")
	h.clicks("Import")
	h.reads(".toast", "Imported Shop With settings and data")
	made := h.newest()
	if all := h.snapshots(made); made == h.profileID || len(all) != 1 || all[0].Reason != "import" || !all[0].Current {
		h.person.t.Errorf("the imported profile has the snapshots %+v", all)
	}
	h.streamedExport(made)
	h.do("DELETE", "/profiles/"+made+"?permanent=true", nil, 204, nil)
	h.importsList()
}

// importsList imports a list of another product. The dialog says what is left out, and which profile was refused.
func (h *byHand) importsList() {
	h.person.t.Helper()
	file := filepath.Join(h.dir, "list.csv")
	if err := os.WriteFile(file, []byte("name,proxy\nFrom elsewhere,ssh://a.example:22\n,\"socks5://a.example:1\"\n"), 0o600); err != nil {
		h.person.t.Fatal(err)
	}
	h.person.goes("#/profiles")
	h.clicks("Import")
	h.chooses("dialog input[type=file]", file)
	h.reads("dialog", "This is no archive of Warren")
	h.clicks("Import")
	h.reads("dialog", "Its proxy is left out")
	h.reads("dialog", "It was not imported. It has neither a name nor an id.")
	h.clicks("Done")
	h.do("DELETE", "/profiles/"+h.newest()+"?permanent=true", nil, 204, nil)
}

// exportedFile waits for the only file of the folder, and returns its path.
func (h *byHand) exportedFile(folder string) (path string) {
	h.person.t.Helper()
	eventually(h.person.t, "the exported file", enough, func() bool {
		found, err := filepath.Glob(filepath.Join(folder, "Shop *.warren"))
		if err != nil || len(found) != 1 {
			return false
		}
		path = found[0]
		text, err := os.ReadFile(path)
		return err == nil && strings.HasPrefix(string(text), "age-encryption.org/v1\n-> scrypt ")
	})
	return path
}

// newest is the profile that was made last.
func (h *byHand) newest() string {
	h.person.t.Helper()
	var list struct{ Data []struct{ ID string } }
	h.do("GET", "/profiles?limit=1", nil, 200, &list)
	return list.Data[0].ID
}

// streamedExport: where a page may write a file, the answer goes into it piece by piece. The file is one of the page's own here, since no
// program can use the dialog of the system. An archive whose proxy is unknown says so when it is imported.
func (h *byHand) streamedExport(id string) {
	h.person.t.Helper()
	proxy := h.addProxy(map[string]any{"port": 9})
	h.do("PUT", "/profiles/"+id, map[string]any{"proxyId": proxy}, 200, nil)
	h.eval("window.showSaveFilePicker = async ({ suggestedName }) => (window.kept = await (await navigator.storage.getDirectory())." +
		"getFileHandle(suggestedName, { create: true }))")
	h.drawer("/profiles/"+id, "Snapshots", "Current")
	h.clicks("More for this profile")
	h.clicks("Export")
	h.eval("document.querySelector('dialog select').value = 'unsealed'")
	h.eval("document.querySelector('dialog select').dispatchEvent(new Event('change', { bubbles: true }))")
	h.clicks("Export without a seal")
	h.clicks("Export")
	h.reads(".toast", "It is not sealed")
	h.do("PUT", "/profiles/"+id, map[string]any{"proxyId": nil}, 200, nil)
	h.do("DELETE", "/proxies/"+proxy, nil, 204, nil)
	h.person.goes("#/profiles")
	h.until("document.querySelector('.page')")
	// Dropped onto the page, as from the desktop.
	h.eval("(async () => { const data = new DataTransfer(); data.items.add(await window.kept.getFile()); document.querySelector('.page')." +
		"dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })); })()")
	h.reads("dialog .notice", "This file is not sealed")
	h.clicks("Import")
	h.reads("dialog", "The profile's proxy is not on this server.")
	h.wantNames("what did not travel")
	h.clicks("Done")
	h.until("!document.querySelector('dialog')")
	h.do("DELETE", fmt.Sprintf("/profiles/%s?permanent=true", h.newest()), nil, 204, nil)
}

// chooses gives a file to a field.
func (p *person) chooses(selector, path string) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q)", selector))
	var root struct{ Root struct{ NodeID int } }
	p.c.call(p.view, "DOM.getDocument", nil, &root)
	var field struct{ NodeID int }
	p.c.call(p.view, "DOM.querySelector", map[string]any{"nodeId": root.Root.NodeID, "selector": selector}, &field)
	p.c.call(p.view, "DOM.setFileInputFiles", map[string]any{"files": []string{path}, "nodeId": field.NodeID}, nil)
}

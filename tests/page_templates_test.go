package tests

import "fmt"

// templatesByHand: a person makes a template from a profile, changes it, creates a profile with it, and deletes it. The profile stays as
// it is. A switch that is not allowed is explained at its field.
func (h *byHand) templatesByHand() {
	h.person.goes("#/profiles")
	h.clicks("More for Shop")
	h.clicks("Save as a template")
	h.reads("dialog p", "With the settings of Shop")
	h.writes("dialog input[name=name]", "Shops")
	h.wantNames("a template of a profile")
	h.clicks("Create")
	h.reads(".toast", "Created the template Shops.")

	h.person.goes("#/settings/templates")
	h.reads(".row .title", "Shops")
	h.wantNames("the templates")
	h.clicks("Edit Shops")
	h.until("document.querySelector('dialog details')")
	h.eval("document.querySelectorAll('dialog details').forEach((it) => { it.open = true; })")
	h.writes("dialog textarea[name=args]", "--no-sandbox")
	h.clicks("Save")
	h.reads("dialog .fault", "--no-sandbox is refused.")
	h.writes("dialog textarea[name=args]", "--mute-audio")
	h.writes("dialog textarea[name=notes]", "of a template")
	h.clicks("Save")
	h.until("!document.querySelector('dialog')")

	h.person.goes("#/profiles")
	h.clicks("New profile")
	h.writes("dialog input[name=name]", "By template")
	h.until("document.querySelector('dialog [name=templateId]')")
	h.eval("document.querySelector('dialog [name=templateId]').click()")
	const line = "[...document.querySelectorAll('.finder-line')].find((it) => it.textContent === 'Shops')"
	h.until(line)
	h.eval(line + ".dispatchEvent(new MouseEvent('mousedown', { bubbles: true, cancelable: true }))")
	h.until("document.querySelector('dialog textarea[name=args]').value === '--mute-audio'")
	h.clicks("Create")
	h.reads(".toast", "Created By template")

	var list struct {
		Data []struct {
			ID, Notes, TemplateID string
			Args                  []string
		}
	}
	h.do("GET", "/profiles?search=By+template", nil, 200, &list)
	made := list.Data[0]
	if made.TemplateID == "" || made.Notes != "of a template" || fmt.Sprint(made.Args) != "[--mute-audio]" {
		h.person.t.Errorf("the page made %+v", made)
	}
	var explained struct{ Sources map[string]string }
	h.do("GET", "/profiles/"+made.ID+"/explain", nil, 200, &explained)
	if s := explained.Sources; s["notes"] != "template" || s["args"] != "template" || s["timezone"] != "default" {
		h.person.t.Errorf("its settings are from %v", s)
	}
	h.person.goes("#/settings/templates")
	h.clicks("More for Shops")
	h.clicks("Delete")
	h.reads("dialog h2", "Delete this template?")
	h.wantNames("a template to delete")
	h.clicks("Delete")
	h.reads(".settings", "No templates yet")
	h.do("DELETE", "/profiles/"+made.ID+"?permanent=true", nil, 204, nil)
}

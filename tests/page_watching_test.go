package tests

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
)

// webhooksByHand: a person adds a webhook, sees its secret once, tests it, and sends a message again that was not taken. Then the secret is
// changed, and the webhook is switched off and deleted.
func (h *byHand) webhooksByHand() {
	var broken atomic.Bool
	signed := make(chan string, 100)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed <- r.Header.Get("webhook-signature")
		if broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, "no room left") //nolint:errcheck // the server reads it, or not
		}
	}))
	defer site.Close()
	h.section("webhooks", "No webhooks yet")
	h.clicks("New webhook")
	h.writes("dialog input[name=url]", "ftp://x")
	h.clicks("Create")
	h.reads("dialog .fault", "must begin with https://")
	h.writes("dialog input[name=url]", site.URL+"/hook")
	h.clicks("Profiles")
	h.wantNames("a new webhook")
	h.clicks("Create")
	h.reads("dialog .notice", "not shown again")
	h.reads("dialog code", "whsec_")
	h.clicks("Send a test")
	h.reads("dialog .attempt", "Delivered")
	h.wantNames("a secret")
	if s := <-signed; s == "" {
		h.person.t.Error("the test is not signed")
	}
	h.clicks("Done")
	h.reads(".row .cell-state", "On")

	broken.Store(true)
	told := h.profile(map[string]any{"name": "Told"})
	var hooks struct {
		Data []struct{ FailingSince *string }
	}
	eventually(h.person.t, "the message is not taken", enough, func() bool { // the list of messages does not follow
		h.do("GET", "/webhooks", nil, 200, &hooks)
		return hooks.Data[0].FailingSince != nil
	})
	h.person.goes("#/settings/webhooks")
	h.eval("document.querySelector('.row .cell-url a').click()")
	h.reads(".settings h2", site.URL)
	h.reads(".row .cell-last", "500")
	h.wantNames("a webhook's messages")
	h.clicks("Attempts of profile.created")
	h.reads("dialog .attempt", "no room left")
	h.wantNames("the attempts")
	broken.Store(false)
	h.clicks("Send now")
	h.reads(".row .cell-state", "Delivered")
	h.do("DELETE", "/profiles/"+told+"?permanent=true", nil, 204, nil)

	more := "More for " + site.URL + "/hook"
	h.clicks(more)
	h.clicks("New secret")
	h.wantNames("another secret")
	h.clicks("New secret")
	h.reads("dialog", "The former secret signs too until")
	h.clicks("Done")
	h.clicks(more)
	h.clicks("Switch off")
	h.reads(".webhook-head .status", "Off")
	h.clicks(more)
	h.clicks("Delete")
	h.clicks("Delete")
	h.reads(".settings", "No webhooks yet")
}

// quotasByHand: a person gives a workspace a quota, is told what it refuses, and deletes the workspace when it is empty.
func (h *byHand) quotasByHand() {
	h.section("workspaces", "Team B")
	h.clicks("Edit Team B")
	h.writes("dialog input[name=profiles]", "many")
	h.clicks("Save")
	h.reads("dialog .field .fault", "Enter a whole number.")
	h.writes("dialog input[name=profiles]", "1")
	h.writes("dialog input[name=diskMb]", "1.5")
	h.clicks("Save")
	h.reads(".row", "0 of 1")
	h.reads(".row", "of 1.5 GiB")
	h.wantNames("quotas")
	one := h.profile(map[string]any{"name": "One", "workspaceId": "team-b"})
	h.reads(".row", "1 of 1")
	h.person.goes("#/profiles")
	h.clicks("New profile")
	h.writes("dialog input[name=name]", "Two")
	h.eval("document.querySelectorAll('dialog details').forEach((it) => { it.open = true; })")
	h.writes("dialog input[name=workspaceId]", "team-b")
	h.clicks("Create")
	h.reads("dialog .problem", "The workspace may have 1 profile, and has 1.")
	h.clicks("Cancel")
	h.clicks("Discard")
	h.person.goes("#/settings/workspaces")
	h.clicks("More for Team B")
	h.clicks("Delete")
	h.clicks("Delete")
	h.reads("dialog .problem", "It still has 1 profile.")
	h.do("DELETE", "/profiles/"+one+"?permanent=true", nil, 204, nil)
	h.clicks("Delete")
	h.until("!document.querySelector('dialog') && !document.querySelector('.settings').innerText.includes('Team B')")
}

// placementByHand: a person says on which servers a profile may be placed. A text that is no label is explained at its field.
func (h *byHand) placementByHand() {
	h.person.goes("#/profiles/" + h.profileID)
	h.clicks("More for this profile")
	h.clicks("Edit")
	h.until("document.querySelector('dialog details')")
	h.eval("document.querySelectorAll('dialog details').forEach((it) => { it.open = true; })")
	for _, wrong := range []string{"berlin", "zone=-"} {
		h.writes("dialog input[name=placement]", wrong)
		h.clicks("Save")
		h.reads("dialog .field:has([name=placement]) .fault", "zone=berlin")
	}
	h.writes("dialog input[name=placement]", "zone=berlin, ssd=")
	h.clicks("Save")
	h.until("!document.querySelector('dialog')")
	var got struct {
		Placement struct{ Labels map[string]string }
	}
	h.do("GET", "/profiles/"+h.profileID, nil, 200, &got)
	if labels := got.Placement.Labels; len(labels) != 2 || labels["zone"] != "berlin" || labels["ssd"] != "" {
		h.person.t.Errorf("the page saved %v", labels)
	}
}

// limitsByHand: a person limits a profile's memory. A number that is not allowed is explained at its field.
func (h *byHand) limitsByHand() {
	h.person.goes("#/profiles/" + h.profileID)
	h.clicks("More for this profile")
	h.clicks("Edit")
	h.until("document.querySelector('dialog details')")
	h.eval("document.querySelectorAll('dialog details').forEach((it) => { it.open = true; })")
	h.until("document.querySelector('dialog input[name=pids]').placeholder === '16,384'")
	h.writes("dialog input[name=memoryMb]", "100")
	h.clicks("Save")
	h.reads("dialog .field:has([name=memoryMb]) .fault", "256")
	h.writes("dialog input[name=memoryMb]", "1024")
	h.writes("dialog input[name=cpuPercent]", "150")
	h.clicks("Save")
	h.until("!document.querySelector('dialog')")
	var got struct{ Limits map[string]int }
	h.do("GET", "/profiles/"+h.profileID, nil, 200, &got)
	if len(got.Limits) != 2 || got.Limits["memoryMb"] != 1024 || got.Limits["cpuPercent"] != 150 {
		h.person.t.Errorf("the page saved %v", got.Limits)
	}
}

// auditByHand: what a person did is in the log, with what it changed. A profile's page leads to the entries about it.
func (h *byHand) auditByHand() {
	h.section("activity?action=webhook.*", "Everything of webhooks", "made a new secret", "deleted a webhook")
	h.section("activity?result=refused", "could not add a webhook", "Refused", "The request had faults", "A quota is used up")
	h.section("activity?action=workspace.quotas", "no limits → 1 profile, 1,536 MiB of disk")
	h.person.goes("#/profiles/" + h.profileID + "/overview")
	h.clicks("Who did what with it")
	h.reads(".filter-chip", "Object Shop")
	h.reads(".row", "changed Shop: limits")
	h.clicks("Add a filter")
	h.wantNames("the filters of the log")
	h.eval("(() => { const it = document.querySelector('.filter-list select'); it.value = 'profile.update'; " +
		"it.dispatchEvent(new Event('change', { bubbles: true })); })()")
	h.reads(".filter-chip", "What Profiles: Changed")
	h.until("document.querySelector('.row .cell-what')?.innerText.includes('changed Shop: limits')")
	h.eval("document.querySelector('.row [aria-label^=\"Details of entry\"]').click()")
	h.reads("dialog table", "Limits")
	h.reads("dialog table", "1024")
	h.wantNames("an entry of the log")
	h.clicks("Close")
}

package tests

// schedulesByHand: a person makes a schedule, is told what is wrong with its time, sees when it comes next, switches it off and deletes
// it.
func (h *byHand) schedulesByHand() {
	h.person.goes("#/settings/schedules")
	h.reads(".settings", "No schedules yet")
	h.clicks("New schedule")
	h.writes("dialog input[name=name]", "Mornings")
	h.writes("dialog input[name=tag]", "nobody")
	h.writes("dialog input[name=cron]", "0 25 * * *")
	h.writes("dialog input[name=timeZone]", "Europe/Berlin")
	h.wantNames("a new schedule")
	h.clicks("Create")
	h.reads("dialog .fault", "such as")
	h.writes("dialog input[name=cron]", "0 9 * * 1-5")
	h.clicks("Create")
	h.until("!document.querySelector('dialog')")
	h.reads(".row .title", "Mornings")
	h.wantNames("the schedules")
	var list struct{ Data []scheduleView }
	h.do("GET", "/schedules", nil, 200, &list)
	if len(list.Data) != 1 || len(list.Data[0].NextRuns) != 5 {
		h.person.t.Errorf("the page made %+v", list.Data)
	}
	h.clicks("Edit Mornings")
	h.reads("dialog .facts-list", "None yet")
	h.clicks("Cancel")
	h.clicks("More for Mornings")
	h.clicks("Switch off")
	h.reads(".row", "Off")
	h.clicks("More for Mornings")
	h.clicks("Delete")
	h.reads("dialog h2", "Delete this schedule?")
	h.clicks("Delete")
	h.reads(".settings", "No schedules yet")
}

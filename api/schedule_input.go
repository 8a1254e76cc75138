package api

import (
	"context"
	"errors"
	"time"

	"warren/identity"
	"warren/problem"
	"warren/schedules"
	"warren/store"
)

// What a request for a schedule may say, and how it is merged into a row.

// ScheduleInput are the members of a request for a schedule.
type ScheduleInput struct {
	WorkspaceID opt[string]   `json:"workspaceId,omitempty" doc:"The workspace that owns it, and whose profiles and proxies it acts on. It never changes."`
	Name        opt[string]   `json:"name,omitempty" doc:"1 to 200 characters. Need not be unique." example:"Mornings"`
	Enabled     opt[bool]     `json:"enabled,omitempty" doc:"Default: true."`
	Cron        opt[string]   `json:"cron,omitempty" doc:"Minute, hour, day of month, month, day of week (0 to 6 from Sunday, or names), as crontab(5) has them. Replaces everyMs." example:"0 9 * * 1-5"`
	TimeZone    opt[string]   `json:"timeZone,omitempty" doc:"An IANA name. With cron. Default: UTC." example:"Europe/Berlin"`
	EveryMs     opt[int64]    `json:"everyMs,omitempty" minimum:"1000" maximum:"31536000000" doc:"An interval of a second to a year, from now on. Replaces cron." example:"3600000"`
	Action      opt[string]   `json:"action,omitempty" enum:"start,stop,check,snapshot,rotate" doc:"start, stop and snapshot are for profiles, check and rotate for proxies."`
	ProfileIDs  opt[[]string] `json:"profileIds,omitempty" minItems:"1" maxItems:"1000" doc:"Profiles of the workspace. Replaces proxyIds and tag."`
	ProxyIDs    opt[[]string] `json:"proxyIds,omitempty" minItems:"1" maxItems:"1000" doc:"Proxies of the workspace. Replaces profileIds and tag."`
	Tag         opt[string]   `json:"tag,omitempty" doc:"Whatever has the tag when it is due: profiles or proxies, as the action needs. Replaces profileIds and proxyIds." example:"shop"`
	StartURLs   opt[[]string] `json:"startUrls,omitempty" maxItems:"20" doc:"With start: open these instead of the profile's."`
	MaxRunMs    opt[int64]    `json:"maxRunMs,omitempty" minimum:"1000" maximum:"2592000000" doc:"With start: close the run after so long, instead of the profile's maxRunMs."`
	CatchUp     opt[bool]     `json:"catchUp,omitempty" doc:"Run once, late, if occurrences were missed. Default: false."`
}

const (
	chooseTime    = `Say when: a cron expression such as "0 9 * * 1-5", or everyMs.`
	chooseTargets = "Say what it acts on: profileIds, proxyIds or a tag."
)

// mayAct refuses a key that may not do the action of a schedule by itself. A snapshot needs the scope write alone.
func mayAct(ctx context.Context, action string) *problem.Error {
	if action == "" || action == schedules.Snapshot {
		return nil
	}
	return callerOf(ctx).may(scopeRun)
}

// check normalises the members of the request, and notes what is wrong with each by itself.
func (in *ScheduleInput) check(f *faults) {
	if f.require(!in.Name.Null, "body.name", enterName); in.Name.given() {
		in.Name.Value = f.line("body.name", in.Name.Value, 1, 200)
	}
	f.require(!in.Action.Null, "body.action", "Choose an action: start, stop, check, snapshot or rotate.")
	if in.Tag.given() {
		in.Tag.Value = f.line("body.tag", in.Tag.Value, 1, 64)
	}
	if in.TimeZone.given() && !identity.IsZone(in.TimeZone.Value) {
		f.add("body.timeZone", `Enter a time zone such as "Europe/Berlin" or "UTC".`, cut(in.TimeZone.Value))
	}
	if in.Cron.given() {
		if _, err := schedules.Cron(in.Cron.Value, time.UTC); err != nil {
			f.add("body.cron", `Enter minute, hour, day of month, month and day of week, such as "0 9 * * 1-5". This is none: `+
				err.Error()+".", cut(in.Cron.Value))
		}
	}
	if in.StartURLs.given() {
		f.startURLs("body.startUrls", in.StartURLs.Value)
	}
	f.eachOnce("body.profileIds", in.ProfileIDs.Value)
	f.eachOnce("body.proxyIds", in.ProxyIDs.Value)
	f.require(!in.Cron.given() || !in.EveryMs.given(), "body.cron", "Give either cron or everyMs.")
	f.require(!in.ProfileIDs.given() || !in.ProxyIDs.given() && !in.Tag.given(), "body.profileIds",
		"Give one of profileIds, proxyIds and tag.")
	f.require(!in.ProxyIDs.given() || !in.Tag.given(), "body.proxyIds", "Give one of profileIds, proxyIds and tag.")
}

// eachOnce notes ids that stand twice.
func (f *faults) eachOnce(location string, ids []string) {
	seen := make(map[string]bool, len(ids))
	for i, id := range ids {
		f.require(!seen[id], element(location, i), "This one is in the list already. List each one once.")
		seen[id] = true
	}
}

// merge writes the members of the request into a row, and plans it if the request changes when it is due. It notes what does not
// fit together.
func (in *ScheduleInput) merge(row *store.Schedule, f *faults) {
	was := *row
	in.Name.merge(&row.Name, row.Name)
	in.Enabled.merge(&row.Enabled, true)
	in.Action.merge(&row.Action, row.Action)
	in.CatchUp.merge(&row.CatchUp, false)
	in.mergeTime(row, f)
	in.mergeTargets(row, f)
	in.mergeStart(row, f)
	if len(*f) > 0 {
		return
	}
	sameTime := row.Cron == was.Cron && row.TimeZone == was.TimeZone && equal(row.EveryMs, was.EveryMs)
	if !row.Enabled {
		row.NextAt = nil
	} else if w, err := schedules.Of(*row); err == nil && (!sameTime || row.NextAt == nil) {
		at := time.Now()
		row.NextAt, row.PlannedAt = schedules.Millis(w.First(at)), at.UnixMilli()
	}
}

// mergeTime merges when the schedule is due.
func (in *ScheduleInput) mergeTime(row *store.Schedule, f *faults) {
	switch {
	case in.Cron.given():
		row.Cron, row.EveryMs = in.Cron.Value, nil
	case in.EveryMs.given():
		row.Cron, row.TimeZone, row.EveryMs = "", "", new(in.EveryMs.Value)
	case in.Cron.Null:
		row.Cron, row.TimeZone = "", ""
	case in.EveryMs.Null:
		row.EveryMs = nil
	}
	if row.Cron != "" {
		if row.TimeZone == "" {
			row.TimeZone = "UTC"
		}
		in.TimeZone.merge(&row.TimeZone, "UTC")
	}
	f.require(row.Cron != "" || in.Cron.given() || !in.TimeZone.given(), "body.timeZone", "A time zone goes with cron. Leave it out.")
	f.require(row.Cron != "" || row.EveryMs != nil || in.Cron.given(), "body.cron", chooseTime)
}

// mergeTargets merges what the schedule acts on.
func (in *ScheduleInput) mergeTargets(row *store.Schedule, f *faults) {
	if in.ProfileIDs.given() || in.ProxyIDs.given() || in.Tag.given() {
		row.ProfileIDs, row.ProxyIDs, row.Tag = nil, nil, nil
	}
	mergeOrNull(in.ProfileIDs, &row.ProfileIDs, jsonList)
	mergeOrNull(in.ProxyIDs, &row.ProxyIDs, jsonList)
	mergeOrNull(in.Tag, &row.Tag, func(tag string) string { return tag })
	switch {
	case row.Action == "":
		f.require(in.Action.Set, "body.action", "Choose an action: start, stop, check, snapshot or rotate.")
	case row.ProfileIDs != nil && schedules.OfProxies(row.Action):
		f.add("body.profileIds", "The action "+row.Action+" is for proxies: give proxyIds or a tag.", nil)
	case row.ProxyIDs != nil && !schedules.OfProxies(row.Action):
		f.add("body.proxyIds", "The action "+row.Action+" is for profiles: give profileIds or a tag.", nil)
	}
	f.require(row.ProfileIDs != nil || row.ProxyIDs != nil || row.Tag != nil, "body.profileIds", chooseTargets)
}

// mergeStart merges how the schedule starts profiles. A schedule that does something else has none of it.
func (in *ScheduleInput) mergeStart(row *store.Schedule, f *faults) {
	if row.Action != schedules.Start {
		row.StartURLs, row.MaxRunMs = nil, nil
		f.require(row.Action == "" || !in.StartURLs.given(), "body.startUrls", "Addresses go with the action start. Leave them out.")
		f.require(row.Action == "" || !in.MaxRunMs.given(), "body.maxRunMs", "A longest time goes with the action start. Leave it out.")
		return
	}
	mergeOrNull(in.StartURLs, &row.StartURLs, jsonList)
	mergeOrNull(in.MaxRunMs, &row.MaxRunMs, func(ms int64) int64 { return ms })
}

// mergeOrNull sets a column that may be NULL to the member's value, and to NULL if it is null.
func mergeOrNull[T, C any](member opt[T], column **C, convert func(T) C) {
	switch {
	case member.Null:
		*column = nil
	case member.Set:
		*column = new(convert(member.Value))
	}
}

// checkStored notes named profiles and proxies that are not in the schedule's workspace.
func (in *ScheduleInput) checkStored(ctx context.Context, q *store.Queries, row store.Schedule, f *faults) error {
	sees := callerOf(ctx).Sees.Filter()
	for i, id := range in.ProfileIDs.Value {
		p, err := q.GetProfile(ctx, store.GetProfileParams{ID: id, Workspaces: sees})
		if errors.Is(err, store.ErrNoRow) || err == nil && p.WorkspaceID != row.WorkspaceID {
			f.add(element("body.profileIds", i), "There is no such profile in the schedule's workspace. Choose another.", cut(id))
		} else if err != nil {
			return err
		}
	}
	for i, id := range in.ProxyIDs.Value {
		p, err := q.GetProxy(ctx, store.GetProxyParams{ID: id, Workspaces: sees})
		if errors.Is(err, store.ErrNoRow) || err == nil && p.WorkspaceID != row.WorkspaceID {
			f.add(element("body.proxyIds", i), "There is no such proxy in the schedule's workspace. Choose another.", cut(id))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// equal reports whether two optional values are the same.
func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// mayStartWithServer notes a setting that starts a browser, for a key that may not.
func (f *faults) mayStartWithServer(c *caller, in *ProfileInput) {
	f.require(!in.StartWithServer.Value || c.may(scopeRun) == nil, "body.startWithServer",
		"This starts browsers: the key needs the scope `run` too. Leave it out, or use another key.")
}

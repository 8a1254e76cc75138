package runs

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/shim"
	"warren/snapshots"
	"warren/store"
)

// Says what is wrong with data that Chrome could not open, and how closely a start looks at them.

// DamagedData is what is wrong with a profile's data, and what there is to go back to, newest first. profile_damaged carries it.
type DamagedData struct {
	Damaged   []snapshots.Damage
	Snapshots []store.Snapshot
	Head      *string // of these, the one that the data go on from
}

// ProfileDamaged refuses a start whose browser would begin some of the profile's data anew. tried says that a repair was asked for and
// no snapshot opens.
func ProfileDamaged(d DamagedData, tried bool) *problem.Error {
	text := "The browser was not started, because it cannot open some of the profile's data, and would begin them anew: " +
		describeDamage(d.Damaged) + " "
	switch {
	case tried:
		text += "There is no snapshot that it could open, so nothing was changed. " + withoutThem
	case len(d.Snapshots) == 0:
		text += "There is no snapshot to go back to. " + withoutThem
	default:
		text += "Start with {\"repair\":true} to go back to the newest of `snapshots` that opens, or roll back to one of them. What is " +
			"there now is kept first."
	}
	return problem.New(problem.Conflict, "profile_damaged", text).With(d)
}

// withoutThem says what can be done where no snapshot opens.
const withoutThem = "Put the files back from a backup. Or start with {\"repair\":true,\"setAside\":true}: they are moved into a folder " +
	"beside the profile's data, and the browser begins them anew."

// describeDamage is a sentence for each damaged file, at most five of them.
func describeDamage(all []snapshots.Damage) string {
	const most = 5
	var parts []string
	for _, d := range all[:min(most, len(all))] {
		parts = append(parts, d.File+": "+d.Problem)
	}
	if more := len(all) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more.", more))
	}
	return strings.Join(parts, " ")
}

// repairedWarning tells of a roll-back to the newest snapshot that opens.
func repairedWarning(done *snapshots.Repaired, damage []snapshots.Damage) Warning {
	text := fmt.Sprintf("The profile's data were damaged (%s) Now they are those of the snapshot of %s.", describeDamage(damage),
		momentOf(done.To.CreatedAt))
	if n := len(done.Passed); n > 0 {
		text += fmt.Sprintf(" Newer ones were damaged too, and were passed over: %d.", n)
	}
	if done.Kept != nil {
		text += " What was there is in the snapshot " + done.Kept.ID + "."
	}
	return Warning{"repaired", text}
}

// setAsideWarning tells of damaged data that a start goes on without.
func setAsideWarning(damage []snapshots.Damage, where string) Warning {
	return Warning{"set_aside", fmt.Sprintf("The profile's data were damaged (%s) No snapshot opens. What was damaged is in %s, and the "+
		"browser begins it anew.", describeDamage(damage), where)}
}

// restoredWarning tells of cookies that were kept while the last run went on.
func restoredWarning(kept *shim.KeptCookies, d snapshots.Damage, where string) Warning {
	return Warning{"cookies_restored", fmt.Sprintf("The profile's file of cookies was damaged after the last run (%s: %s) Its cookies are "+
		"those of %s, as they were kept while it ran: %d. The damaged file is in %s.", d.File, d.Problem,
		kept.At.Format("2006-01-02 15:04:05 MST"), len(kept.Cookies), where)}
}

// momentOf writes a time of a row for people.
func momentOf(ms int64) string { return Millis(ms).Format("2006-01-02 15:04 MST") }

// writtenLate is how much later than a run's recorded end its browser may have written: file systems round times.
const writtenLate = 3 * time.Second

// inspectionOf decides how closely the data of a profile are looked at. Databases are read whole if the last run did not end well, if
// the machine was started since, or if something else wrote to them.
func inspectionOf(row store.Profile, booted time.Time) snapshots.Inspection {
	var last End
	if row.LastRun == nil || json.Unmarshal([]byte(*row.LastRun), &last) != nil {
		return snapshots.Inspection{Thorough: row.LastStartedAt != 0}
	}
	unclean := last.Status != "stopped" || last.Method == "kill" || last.EndedAt.Before(booted)
	return snapshots.Inspection{Thorough: unclean, Since: last.EndedAt.Add(writtenLate)}
}

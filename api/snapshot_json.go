package api

import (
	"time"

	"warren/runs"
	"warren/snapshots"
	"warren/store"
)

// SnapshotJSON is a snapshot as the API shows it.
type SnapshotJSON struct {
	ID             string    `json:"id"`
	ProfileID      string    `json:"profileId"`
	Name           string    `json:"name"`
	Pinned         bool      `json:"pinned" doc:"Kept until it is deleted."`
	Reason         string    `json:"reason" enum:"stop,asked,live,before_rollback,before_downgrade,clone,import" doc:"stop: its browser was closed; live: asked for while its browser ran; clone: what the profile began with."`
	BrowserVersion string    `json:"browserVersion" doc:"The full version that last opened the data; empty if it is not known." example:"156.0.8078.79"`
	Bytes          int64     `json:"bytes" doc:"Of its files."`
	NewBytes       int64     `json:"newBytes" doc:"That it takes beside other snapshots: what was written for it."`
	Current        bool      `json:"current" doc:"The profile's data go on from this one."`
	Torn           []string  `json:"torn,omitempty" doc:"Only in the answer of a live one: files that may be damaged in it."`
	CreatedAt      time.Time `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
}

func (SnapshotJSON) example() any {
	return SnapshotJSON{ID: exampleSnapshotID, ProfileID: exampleProfileID, Name: "Signed in", Pinned: true, Reason: snapshots.Asked,
		BrowserVersion: "156.0.8078.79", Bytes: 135056589, NewBytes: 7130316, Current: true, CreatedAt: exampleTime()}
}

func snapshotFrom(row store.Snapshot, head *string) SnapshotJSON {
	return SnapshotJSON{ID: row.ID, ProfileID: row.ProfileID, Name: row.Name, Pinned: row.Pinned, Reason: row.Reason,
		BrowserVersion: row.Browser, Bytes: row.Bytes, NewBytes: row.NewBytes, Current: head != nil && *head == row.ID,
		CreatedAt: runs.Millis(row.CreatedAt)}
}

package main

import (
	"context"
	"fmt"
	"strings"

	"warren/runs"
	"warren/store"
)

// databaseFinding says whether the PostgreSQL of --store keeps what is committed.
func databaseFinding(ctx context.Context, address string) runs.Finding {
	p, err := store.ReadPromises(ctx, address)
	if err != nil {
		return runs.Finding{Name: "database", Detail: err.Error(),
			Advice: "Look at the address in --store, and whether PostgreSQL runs (docs/postgres.md)."}
	}
	return promisesFinding(p)
}

// promisesFinding says it of a server that has answered.
func promisesFinding(p store.Promises) runs.Finding {
	f := runs.Finding{Name: "database", Detail: "PostgreSQL " + p.Version}
	if p.Standbys > 0 {
		f.Detail += fmt.Sprintf(", followed by %d", p.Standbys)
	}
	switch {
	case p.ReadOnly:
		f.Detail += ", a standby, which takes no writes"
		f.Advice = "Name the primary in --store: postgres://…@HOST1,HOST2/NAME?target_session_attrs=read-write finds it."
	case len(p.Off) > 0:
		f.Detail += "; off: " + strings.Join(p.Off, ", ")
		f.Advice = "What was acknowledged may be lost. Turn on: " + strings.Join(p.Off, ", ") + " (ALTER SYSTEM RESET, or postgresql.conf)."
	case p.Standbys > 0 && !p.Waits:
		f.Detail += "; no commit waits for a standby"
		f.Advice = "A standby that takes over may lack what was acknowledged. Name one in synchronous_standby_names."
	default:
		f.OK = true
		f.Detail += "; what is committed stays"
	}
	return f
}

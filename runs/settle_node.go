package runs

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// Settles what a server has left that is gone.

// SettleNode records that the runs of a server that is gone were lost, and that its profiles do not run. It returns how many runs.
func SettleNode(ctx context.Context, q *store.Queries, node string) (lost int, err error) {
	rows, err := q.ListOpenRunsOfNode(ctx, node)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		end := newEnd(row.ID, Millis(row.StartedAt), shim.End{Outcome: shim.Lost, EndedAt: time.Now().UTC()})
		end.Status = "stopped"
		text, err := json.Marshal(end)
		if err != nil {
			return 0, err
		}
		if err := endAndTrim(ctx, q, row.ProfileID, end); err != nil {
			return 0, err
		}
		_, err = q.SetProfileStatus(ctx, store.SetProfileStatusParams{ID: row.ProfileID, Status: "stopped", LastRun: new(string(text)),
			NodeID: node})
		if err != nil {
			return 0, err
		}
	}
	return len(rows), store.ErrorOf(q.SettleProfilesOfNode(ctx, node))
}

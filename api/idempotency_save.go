package api

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"warren/store"
)

// Stores the answers of requests with an Idempotency-Key, also when the database is away for a while.

const (
	// maxWaiting is how many answers of maxSavedAnswer bytes wait for the database.
	maxWaiting = 256
	// saveAgain is the pause before one is stored again.
	saveAgain = time.Second
)

// save stores the answer of the request that has the row of a server, node. An answer that is not stored frees the key. So does one that
// is too large, unless an object was created: then a repeated request reads it, at any server. later reports that it is tried again until
// the database takes it. The row is in use until then, so that no repeated request takes the result for unknown.
func (i *idempotency) save(ctx context.Context, p store.GetIdempotencyParams, node string, rec *recorder) (later bool) {
	answer, err := i.answerOf(p, node, rec)
	if err == nil {
		err = i.write(ctx, p, node, answer)
		later = err != nil && i.keepTrying(p, err, func(ctx context.Context) error { return i.write(ctx, p, node, answer) })
	}
	if err != nil && !later && !errors.Is(err, store.ErrClosed) {
		i.log.Error("an answer for its Idempotency-Key was not stored", "cause", err)
	}
	return later
}

// forget removes the row of a request that was refused, since it is not known whether the row was made at a time.
func (i *idempotency) forget(p store.GetIdempotencyParams, at int64) {
	row := store.ForgetIdempotencyParams{KeyID: p.KeyID, IdemKey: p.IdemKey, Target: p.Target, NodeID: i.nodes.Owner(), CreatedAt: at}
	i.begin(p)
	if !i.keepTrying(p, store.ErrUnknown, func(ctx context.Context) error {
		return i.store.Write(ctx, func(q *store.Queries) error { return store.ErrorOf(q.ForgetIdempotency(ctx, row)) })
	}) {
		i.end(p)
	}
}

// answerOf returns the answer as its row has it; nil: the key is freed.
func (i *idempotency) answerOf(p store.GetIdempotencyParams, node string, rec *recorder) (*store.FinishIdempotencyParams, error) {
	if !rec.done || !isSaved(rec.status) || rec.tooLarge {
		return nil, nil
	}
	headers := map[string]string{}
	for _, k := range []string{"Content-Type", "Location", "Etag"} {
		if v := rec.Header().Get(k); v != "" {
			headers[k] = v
		}
	}
	text, err := json.Marshal(headers)
	if err != nil {
		return nil, err
	}
	answer, err := i.store.Seal("idempotency", "answer", idempotencyRow(p), rec.body.Bytes())
	return &store.FinishIdempotencyParams{KeyID: p.KeyID, IdemKey: p.IdemKey, Target: p.Target, NodeID: node,
		Status: int64(rec.status), Headers: string(text), Answer: answer}, err
}

// write stores an answer, or frees the key. Doing it again does no harm: the row is named with its server, and none of this one reserves it
// meanwhile.
func (i *idempotency) write(ctx context.Context, p store.GetIdempotencyParams, node string, answer *store.FinishIdempotencyParams) error {
	return i.store.Write(ctx, func(q *store.Queries) error {
		if answer != nil {
			return store.ErrorOf(q.FinishIdempotency(ctx, *answer))
		}
		n, err := q.DeleteIdempotency(ctx, store.DeleteIdempotencyParams{KeyID: p.KeyID, IdemKey: p.IdemKey, Target: p.Target,
			NodeID: node})
		if err != nil || n > 0 || node == "" {
			return err
		}
		return store.ErrorOf(q.LeaveIdempotency(ctx, store.LeaveIdempotencyParams{KeyID: p.KeyID, IdemKey: p.IdemKey, Target: p.Target,
			NodeID: node}))
	})
}

// keepTrying calls a write again and again until the database takes it, or close. The row is in use until then. It returns false if too
// many wait, or if the store is closed. Where close ends it, the next start of the server frees the key, unless an object was created.
func (i *idempotency) keepTrying(p store.GetIdempotencyParams, cause error, write func(context.Context) error) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if errors.Is(cause, store.ErrClosed) || i.waiting >= maxWaiting {
		return false
	}
	i.waiting++
	i.log.Warn("what is known of an Idempotency-Key waits for the database", "cause", cause)
	go func() {
		for err := cause; err != nil && !errors.Is(err, store.ErrClosed); {
			select {
			case <-time.After(saveAgain):
				err = write(context.Background())
			case <-i.ending:
				i.log.Error("what is known of an Idempotency-Key was not stored before the end of the server", "cause", err)
				err = nil
			}
		}
		i.mu.Lock()
		i.waiting--
		i.mu.Unlock()
		i.end(p)
	}()
	return true
}

package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

// Runs the migration steps that SQL cannot express, because they hash or seal. Names and binds idempotency answers.

// pendingSteps is the setting that lists the steps to run. Migrations add to it. It is deleted in a transaction after
// the last step, so that a crash in between leaves the rest to be run.
const pendingSteps = "refit"

// vacuumStep runs last, after a step has sealed plain text.
const vacuumStep = "rebuild"

// stepRows is how many rows one transaction changes.
const stepRows = 500

// runPendingSteps runs the steps that are left.
func (s *Store) runPendingSteps(ctx context.Context, path string) error {
	names, err := s.short.GetSetting(ctx, pendingSteps)
	if errors.Is(err, ErrNoRow) {
		return nil
	}
	for name := range strings.FieldsSeq(names) {
		switch name {
		case "audit":
			err = errors.Join(err, s.chainAudit(ctx), s.indexOldAudit(ctx))
		case "idempotency":
			err = errors.Join(err, s.inBatches(ctx, s.hashTargets))
		case "rotate":
			left := names + " " + vacuumStep
			step := func(ctx context.Context, q *Queries, after string) (last string, n int, err error) {
				// Noted in the same transaction: a crash must not lose it.
				if last, n, err = s.sealRotateURLs(ctx, q, after); err == nil && n > 0 {
					names = left
					err = q.SetSetting(ctx, SetSettingParams{Name: pendingSteps, Value: left})
				}
				return last, n, err
			}
			err = errors.Join(err, inBatchesFrom(ctx, s, "", step))
		}
	}
	if err == nil && strings.Contains(names, vacuumStep) {
		err = vacuum(ctx, path)
	}
	if err != nil {
		return err
	}
	return s.Write(ctx, func(q *Queries) error {
		_, err := q.DeleteSetting(ctx, pendingSteps)
		return err
	})
}

// vacuum rewrites the file, since unused parts of its pages still hold the plain text.
func vacuum(ctx context.Context, path string) error {
	db := openPool(dsn(path, writerPragmas), 1)
	_, err := db.ExecContext(ctx, "VACUUM")
	if err == nil {
		_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return errors.Join(err, db.Close())
}

// inBatches calls step until it reports that it has changed no rows.
func (s *Store) inBatches(ctx context.Context, step func(context.Context, *Queries) (int, error)) error {
	return inBatchesFrom(ctx, s, struct{}{}, func(ctx context.Context, q *Queries, none struct{}) (struct{}, int, error) {
		n, err := step(ctx, q)
		return none, n, err
	})
}

// inBatchesFrom is inBatches for a step that begins at a place, and returns the next one. A transaction that is tried
// again begins at the same place.
func inBatchesFrom[P any](ctx context.Context, s *Store, place P, step func(context.Context, *Queries, P) (P, int, error)) error {
	for n := 1; n > 0; {
		var next P
		err := s.Write(ctx, func(q *Queries) (err error) {
			next, n, err = step(ctx, q, place)
			return err
		})
		if err != nil {
			return err
		}
		place = next
	}
	return nil
}

// IdempotencyTarget returns a hash of the operation that an Idempotency-Key was sent with. Its length does not depend
// on the address.
func IdempotencyTarget(method, address string) string { return hashTarget(method + " " + address) }

func hashTarget(target string) string {
	sum := sha256.Sum256([]byte(target))
	return hex.EncodeToString(sum[:])
}

// IdempotencyRow returns the name of a row, to which its sealed answer is bound.
func IdempotencyRow(keyID, idemKey, target string) string {
	return keyID + "\n" + idemKey + "\n" + target
}

// hashTargets hashes plain targets and seals their answers again, since an answer is bound to its row.
func (s *Store) hashTargets(ctx context.Context, q *Queries) (int, error) {
	rows, err := q.ListIdempotencyOfOldForm(ctx, stepRows)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		hashed := hashTarget(r.Target)
		if r.Answer != nil {
			plain, err := s.Unseal("idempotency", "answer", IdempotencyRow(r.KeyID, r.IdemKey, r.Target), r.Answer)
			if err != nil {
				return 0, err
			}
			if r.Answer, err = s.Seal("idempotency", "answer", IdempotencyRow(r.KeyID, r.IdemKey, hashed), plain); err != nil {
				return 0, err
			}
		}
		if _, err := q.RefitIdempotency(ctx, RefitIdempotencyParams{Hashed: hashed, Answer: r.Answer, KeyID: r.KeyID, IdemKey: r.IdemKey,
			Target: r.Target}); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

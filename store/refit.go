package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

// This file holds what an answer's place is called, and the steps of migrations that SQL cannot do: those that hash, and those that seal.

// refitName is the setting that names the steps to do. The migration that needs one writes it, and whoever has done it takes it away, in
// the transaction that ends it: a crash in between leaves the rest to be done.
const refitName = "refit"

// rebuildName is the step that comes last, where something that stood in clear was sealed.
const rebuildName = "rebuild"

// refitPart is how many rows one transaction takes.
const refitPart = 500

// refit does the steps that are left.
func (s *Store) refit(ctx context.Context, path string) error {
	names, err := s.short.GetSetting(ctx, refitName)
	if errors.Is(err, ErrNoRow) {
		return nil
	}
	for name := range strings.FieldsSeq(names) {
		switch name {
		case "idempotency":
			err = errors.Join(err, s.inParts(ctx, s.hashTargets))
		case "rotate":
			after := ""
			err = errors.Join(err, s.inParts(ctx, func(ctx context.Context, q *Queries) (n int, err error) {
				if after, n, err = s.sealRotateURLs(ctx, q, after); err == nil && n > 0 { // noted with them: a crash in between must not forget it
					names += " " + rebuildName
					err = q.SetSetting(ctx, SetSettingParams{Name: refitName, Value: names})
				}
				return n, err
			}))
		}
	}
	if err == nil && strings.Contains(names, rebuildName) {
		err = rebuild(ctx, path)
	}
	if err != nil {
		return err
	}
	return s.Write(ctx, func(q *Queries) error {
		_, err := q.DeleteSetting(ctx, refitName)
		return err
	})
}

// rebuild writes the file anew: what was in clear stands in parts of its pages that nothing uses any more.
func rebuild(ctx context.Context, path string) error {
	db := openPool(dsn(path, writerPragmas), 1)
	_, err := db.ExecContext(ctx, "VACUUM")
	if err == nil {
		_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return errors.Join(err, db.Close())
}

// inParts runs step, which tells how many rows it has done, until it has done none.
func (s *Store) inParts(ctx context.Context, step func(context.Context, *Queries) (int, error)) error {
	for n := 1; n > 0; {
		err := s.Write(ctx, func(q *Queries) (err error) {
			n, err = step(ctx, q)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// IdempotencyTarget is what stands for the operation that an Idempotency-Key was sent with: as long for a long address as for a short one.
func IdempotencyTarget(method, address string) string { return hashTarget(method + " " + address) }

func hashTarget(target string) string {
	sum := sha256.Sum256([]byte(target))
	return hex.EncodeToString(sum[:])
}

// IdempotencyRow is the name of a row, which its answer is sealed for.
func IdempotencyRow(keyID, idemKey, target string) string {
	return keyID + "\n" + idemKey + "\n" + target
}

// hashTargets hashes targets that stand in clear, and seals their answers anew: an answer is bound to its row.
func (s *Store) hashTargets(ctx context.Context, q *Queries) (int, error) {
	rows, err := q.ListIdempotencyOfOldForm(ctx, refitPart)
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
		if _, err := q.RefitIdempotency(ctx, RefitIdempotencyParams{Hashed: hashed, Answer: r.Answer, KeyID: r.KeyID, IdemKey: r.IdemKey, Target: r.Target}); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

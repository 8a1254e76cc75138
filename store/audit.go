package store

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"time"

	"github.com/google/uuid"
)

// Keeps the audit log: entries that are only appended, in a chain.
//
//   - The hash of an entry is HMAC-SHA-256 (RFC 2104) over all its columns and the hash of the entry before.
//   - The seal of the chain is the same over its first and its last place, so that entries missing at the end show too.
//   - The key is derived from the secret key (HKDF-SHA-256, RFC 5869). Who has the database without it can make neither.
//   - Who has the key can make a log anew, and who has an older copy of the database can put that in place.

// Record appends an entry to the audit log in the transaction that q belongs to. It fails outside Write.
func (q *Queries) Record(e AuditEntry) error {
	audit, err := q.auditQueue()
	if err != nil {
		return err
	}
	audit.entries = append(audit.entries, e)
	return nil
}

// auditQueue returns what the transaction that q belongs to has for the audit log.
func (q *Queries) auditQueue() (*auditQueue, error) {
	if w, ok := q.db.(recorder); ok && w.auditQueue() != nil {
		return w.auditQueue(), nil
	}
	return nil, errors.New("an entry of the audit log outside a write")
}

// recorder is the statements of a transaction that takes entries; nil: it takes none.
type recorder interface{ auditQueue() *auditQueue }

// auditKey makes the hashes of the log.
type auditKey []byte

func newAuditKey(k keyring) (auditKey, error) {
	return hkdf.Key(sha256.New, k.master, nil, "warren audit", sha256.Size)
}

// auditHasher makes hashes, one after the other.
type auditHasher struct {
	mac  hash.Hash
	text []byte
}

func (k auditKey) hasher() *auditHasher { return &auditHasher{mac: hmac.New(sha256.New, k)} }

// sum returns the HMAC of numbers and texts. Each text has its length in front, so that no two lists are equal.
func (h *auditHasher) sum(purpose string, numbers []int64, texts ...string) []byte {
	b := append(binary.BigEndian.AppendUint64(h.text[:0], uint64(len(purpose))), purpose...)
	for _, text := range texts {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
	}
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // its bits
	}
	h.text = b
	h.mac.Reset() // which remembers the key's part of the work
	h.mac.Write(b)
	return h.mac.Sum(nil)
}

// entry returns the hash of an entry behind another.
func (h *auditHasher) entry(before []byte, a Audit) []byte {
	return h.sum("entry", []int64{a.Seq, a.At}, string(before), a.ID, a.KeyID, a.KeyName, a.Parent, a.WorkspaceID, a.Action, a.ObjectID,
		a.Result, a.Remote, a.RequestID, a.Detail)
}

func (h *auditHasher) seal(c GetAuditChainRow) []byte {
	return h.sum("chain", []int64{c.AnchorSeq, c.LastSeq}, string(c.AnchorHash), string(c.LastHash))
}

// auditID makes the id of an entry from its time and its number. It is a UUID of version 8 (RFC 9562, 5.8). It leads to the entry without
// an index of ids.
func auditID(at, seq int64) string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], uint64(at)<<16|0x8000) //nolint:gosec // 48 bits of it
	binary.BigEndian.PutUint64(id[8:], 1<<63|uint64(seq))     //nolint:gosec // numbers have less than 62 bits
	return id.String()
}

// numberOfAudit returns the number that an id of auditID tells; ok is false for another id.
func numberOfAudit(id string) (seq int64, ok bool) {
	u, err := uuid.Parse(id)
	return int64(binary.BigEndian.Uint64(u[8:]) &^ (1 << 63)), err == nil && u.Version() == 8 //nolint:gosec // as in auditID
}

// auditChain is where the log begins and ends.
type auditChain struct {
	GetAuditChainRow
	broken bool // somebody else has changed it: its seal stays wrong, so that CheckAudit finds that whatever is appended
}

// read reads the chain.
func (k auditKey) read(ctx context.Context, q *Queries) (auditChain, error) {
	row, err := q.GetAuditChain(ctx)
	return auditChain{row, !hmac.Equal(row.Seal, k.hasher().seal(row))}, err
}

// set seals the chain and writes it.
func (c *auditChain) set(ctx context.Context, q *Queries, h *auditHasher) error {
	if !c.broken {
		c.Seal = h.seal(c.GetAuditChainRow)
	}
	row := SetAuditChainParams(c.GetAuditChainRow)
	row.AnchorHash, row.LastHash, row.Seal = notNull(row.AnchorHash), notNull(row.LastHash), notNull(row.Seal)
	return ErrorOf(q.SetAuditChain(ctx, row))
}

// notNull returns an empty blob for nil, which the driver reads for one and writes as NULL.
func notNull(blob []byte) []byte { return append([]byte{}, blob...) }

// append writes entries at the end of the chain.
func (c *auditChain) append(ctx context.Context, q *Queries, h *auditHasher, entries []AuditEntry) error {
	for _, e := range entries {
		seq := c.LastSeq + 1
		row := Audit{Seq: seq, ID: auditID(e.At, seq), At: e.At, KeyID: e.KeyID, KeyName: e.KeyName, Parent: e.Parent,
			WorkspaceID: e.WorkspaceID, Action: e.Action, ObjectID: e.ObjectID, Result: e.Result, Remote: e.Remote,
			RequestID: e.RequestID, Detail: e.Detail}
		row.Hash = h.entry(c.LastHash, row)
		if err := q.AppendAudit(ctx, AppendAuditParams{Seq: row.Seq, ID: row.ID, At: row.At, KeyID: row.KeyID, KeyName: row.KeyName,
			Parent: row.Parent, WorkspaceID: row.WorkspaceID, Action: row.Action, ObjectID: row.ObjectID, Result: row.Result,
			Remote: row.Remote, RequestID: row.RequestID, Detail: row.Detail, Hash: row.Hash}); err != nil {
			return err
		}
		c.LastSeq, c.LastHash = row.Seq, row.Hash
	}
	return c.set(ctx, q, h)
}

// appendAudit writes the entries of a transaction at the end of the chain, and returns the chain as it is then.
func (w *writer) appendAudit(ctx context.Context) (*auditChain, error) {
	entries := w.stmts.audit.entries
	if w.stmts.audit.moved {
		w.chain = nil
	}
	if len(entries) == 0 {
		return w.chain, nil
	}
	chain, err := w.lastAudit(ctx)
	if err != nil {
		return nil, err
	}
	if w.hasher == nil {
		w.hasher = w.auditKey.hasher()
	}
	w.unindexed += len(entries)
	return &chain, chain.append(ctx, w.q, w.hasher, entries)
}

// lastAudit returns the chain, which the writer reads once.
func (w *writer) lastAudit(ctx context.Context) (auditChain, error) {
	if w.chain != nil {
		return *w.chain, nil
	}
	return w.auditKey.readLast(ctx, w.q)
}

// readLast reads the chain to append to it. It begins behind rows that somebody else appended, which CheckAudit finds: they must not
// stop the server from writing.
func (k auditKey) readLast(ctx context.Context, q *Queries) (auditChain, error) {
	chain, err := k.read(ctx, q)
	if err != nil {
		return chain, err
	}
	last, err := q.LastAudit(ctx)
	chain.LastSeq = max(chain.LastSeq, last)
	return chain, err
}

// auditPart is how many entries are read, or removed, at a time.
const auditPart = 1000

// chainAudit makes the chain of the entries of before there was one. It does nothing to a chain that there is.
func (s *Store) chainAudit(ctx context.Context) error {
	chain, err := s.short.GetAuditChain(ctx)
	if err != nil || len(chain.Seal) > 0 {
		return Typed(err)
	}
	hasher := s.audit.hasher()
	first := auditChain{GetAuditChainRow: GetAuditChainRow{AnchorHash: []byte{}, LastHash: []byte{}}}
	return inBatchesFrom(ctx, s, first, func(ctx context.Context, q *Queries, last auditChain) (auditChain, int, error) {
		if err := s.engine.lockChain(ctx, q); err != nil {
			return last, 0, err
		}
		rows, err := q.WalkAudit(ctx, WalkAuditParams{After: last.LastSeq, Limit: auditPart})
		if err != nil {
			return last, 0, err
		}
		for _, row := range rows {
			hash := hasher.entry(last.LastHash, row)
			if len(row.Hash) == 0 { // else it was made before a crash
				if _, err := q.SetAuditHash(ctx, SetAuditHashParams{Seq: row.Seq, Hash: hash}); err != nil {
					return last, 0, err
				}
			}
			last.LastSeq, last.LastHash = row.Seq, hash
		}
		if len(rows) == 0 {
			return last, 0, last.set(ctx, q, hasher)
		}
		return last, len(rows), nil
	})
}

// RemoveAudit removes the oldest entries, those of before a time. The hash of the last one stays as the anchor of the chain.
func (s *Store) RemoveAudit(ctx context.Context, before time.Time) error {
	return s.inBatches(ctx, func(ctx context.Context, q *Queries) (int, error) {
		if err := s.engine.lockChain(ctx, q); err != nil {
			return 0, err
		}
		chain, err := s.audit.read(ctx, q)
		if err != nil {
			return 0, err
		}
		rows, err := q.WalkAudit(ctx, WalkAuditParams{After: chain.AnchorSeq, Limit: auditPart})
		if err != nil {
			return 0, err
		}
		n := 0
		for ; n < len(rows) && rows[n].At < before.UnixMilli(); n++ {
			chain.AnchorSeq, chain.AnchorHash = rows[n].Seq, rows[n].Hash
		}
		if n == 0 {
			return 0, nil
		}
		if err := chain.set(ctx, q, s.audit.hasher()); err != nil {
			return 0, err
		}
		return n, errors.Join(ErrorOf(q.RemoveAudit(ctx, chain.AnchorSeq)), ErrorOf(q.RemoveAuditIndex(ctx, chain.AnchorSeq)))
	})
}

// CheckAudit verifies the chain. It returns how many entries were found in order, and what is wrong; "": nothing. The first fault ends
// it, since nothing behind that proves anything.
func (s *Store) CheckAudit(ctx context.Context) (entries int, fault string, err error) {
	if err := s.engine.chainUp(ctx); err != nil {
		return 0, "", err
	}
	chain, err := s.long.GetAuditChain(ctx)
	if errors.Is(err, ErrNoRow) {
		return 0, "the audit log has lost the row of its ends", nil
	}
	if err != nil {
		return 0, "", Typed(err)
	}
	hasher := s.audit.hasher()
	last, before := chain.AnchorSeq, chain.AnchorHash
	for after := int64(-1) << 62; ; {
		rows, err := s.long.WalkAudit(ctx, WalkAuditParams{After: after, Limit: auditPart})
		if err != nil {
			return entries, "", Typed(err)
		}
		for _, row := range rows {
			at := time.UnixMilli(row.At).UTC().Format(time.RFC3339)
			switch {
			case row.Seq != last+1:
				return entries, fmt.Sprintf("the audit log has no entry %d: the next one is %d of %s", last+1, row.Seq, at), nil
			case !hmac.Equal(row.Hash, hasher.entry(before, row)):
				return entries, fmt.Sprintf("entry %d of the audit log (%s, %s by %q) is not as it was written, or was not written by "+
					"this server", row.Seq, at, row.Action, row.KeyName), nil
			}
			last, before = row.Seq, row.Hash
			entries++
		}
		if len(rows) < auditPart {
			break
		}
		after = last
	}
	if last != chain.LastSeq || !hmac.Equal(before, chain.LastHash) || !hmac.Equal(chain.Seal, hasher.seal(chain)) {
		return entries, fmt.Sprintf("the audit log ends at entry %d, which was not its last one (%d), or its ends were changed", last,
			chain.LastSeq), nil
	}
	fault, err = s.checkAuditIndex(ctx)
	return entries, fault, err
}

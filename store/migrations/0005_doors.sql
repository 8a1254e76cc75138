-- +goose Up
-- schema.sql gives the reasons.

CREATE INDEX idempotency_of_key ON idempotency (key_id, created_at);

-- A combining dot behind an i is redundant (store.Fold): İstanbul is istanbul.
UPDATE profiles SET search_key = replace(search_key, 'i' || char(0x307), 'i'), tags_key = replace(tags_key, 'i' || char(0x307), 'i')
WHERE instr(search_key, 'i' || char(0x307)) OR instr(tags_key, 'i' || char(0x307));
UPDATE OR REPLACE picks SET tag = replace(tag, 'i' || char(0x307), 'i') WHERE instr(tag, 'i' || char(0x307));

-- Steps that SQL cannot express run at the next open (store/pending_steps.go).
INSERT INTO settings (name, value) VALUES ('refit', 'idempotency');

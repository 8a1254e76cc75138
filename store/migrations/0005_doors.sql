-- +goose Up
-- Why each thing is as it is stands in schema.sql.

CREATE INDEX idempotency_of_key ON idempotency (key_id, created_at);

-- A dot above that stands behind an i says nothing more (store.Fold): İstanbul is istanbul.
UPDATE profiles SET search_key = replace(search_key, 'i' || char(0x307), 'i'), tags_key = replace(tags_key, 'i' || char(0x307), 'i')
WHERE instr(search_key, 'i' || char(0x307)) OR instr(tags_key, 'i' || char(0x307));
UPDATE OR REPLACE picks SET tag = replace(tag, 'i' || char(0x307), 'i') WHERE instr(tag, 'i' || char(0x307));

-- What SQL cannot do is done at the next open (store/refit.go).
INSERT INTO settings (name, value) VALUES ('refit', 'idempotency');

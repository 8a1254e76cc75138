-- +goose Up
-- schema.sql gives the reasons.

ALTER TABLE proxies ADD COLUMN rotate_sealed BLOB;

-- Steps that SQL cannot express run at the next open (store/pending_steps.go).
INSERT INTO settings (name, value) VALUES ('refit', 'rotate') ON CONFLICT (name) DO UPDATE SET value = value || ' rotate';

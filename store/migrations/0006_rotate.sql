-- +goose Up
-- Why each thing is as it is stands in schema.sql.

ALTER TABLE proxies ADD COLUMN rotate_sealed BLOB;

-- What SQL cannot do is done at the next open (store/refit.go).
INSERT INTO settings (name, value) VALUES ('refit', 'rotate') ON CONFLICT (name) DO UPDATE SET value = value || ' rotate';

-- +goose Up
-- Why each thing is as it is stands in schema.sql.

ALTER TABLE profiles ADD COLUMN consistency TEXT NOT NULL DEFAULT 'warn' CHECK (consistency IN ('off', 'warn', 'block'));

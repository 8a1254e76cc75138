-- +goose Up
-- Whether pages make and use passkeys. schema.sql gives the reasons.

ALTER TABLE profiles ADD COLUMN passkeys TEXT NOT NULL DEFAULT 'off' CHECK (passkeys IN ('off', 'auto', 'ask'));

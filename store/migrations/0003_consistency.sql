-- +goose Up
-- schema.sql gives the reasons.

ALTER TABLE profiles ADD COLUMN consistency TEXT NOT NULL DEFAULT 'warn' CHECK (consistency IN ('off', 'warn', 'block'));

-- +goose Up
-- The schema that each server knows. schema.sql gives the reasons.

ALTER TABLE nodes ADD COLUMN schema INTEGER NOT NULL DEFAULT 0;

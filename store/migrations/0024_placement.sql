-- +goose Up
-- On which servers a profile may be placed, and how busy each server is. schema.sql gives the reasons.

ALTER TABLE profiles ADD COLUMN placement TEXT CHECK (placement IS NULL OR (json_valid(placement) AND json_type(placement) = 'object'));

ALTER TABLE nodes ADD COLUMN pressure INTEGER NOT NULL DEFAULT 0 CHECK (pressure BETWEEN 0 AND 100);

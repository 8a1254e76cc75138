-- +goose Up
-- What a run may use of the machine. schema.sql gives the reasons.

ALTER TABLE profiles ADD COLUMN limits TEXT CHECK (limits IS NULL OR (json_valid(limits) AND json_type(limits) = 'object'));

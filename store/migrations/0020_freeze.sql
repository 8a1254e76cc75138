-- +goose Up
-- When runs that nobody needs are frozen. schema.sql gives the reasons.

ALTER TABLE profiles ADD COLUMN freeze_after INTEGER CHECK (freeze_after >= 0);

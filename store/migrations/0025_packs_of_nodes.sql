-- +goose Up
-- Which server has a pack. schema.sql gives the reasons.

ALTER TABLE packs ADD COLUMN node_id TEXT NOT NULL DEFAULT '';

-- +goose Up
-- schema.sql gives the reasons.

ALTER TABLE profiles ADD COLUMN background_traffic TEXT NOT NULL DEFAULT 'refuse' CHECK (background_traffic IN ('refuse', 'allow'));
ALTER TABLE profiles ADD COLUMN allow_local TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(allow_local) AND json_type(allow_local) = 'array');

-- +goose Up
-- The servers of a database that several share, and where each profile's data lie. schema.sql gives the reasons.

CREATE TABLE nodes (
    id          TEXT    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    address     TEXT    NOT NULL,
    version     TEXT    NOT NULL,
    incarnation TEXT    NOT NULL,
    beat        INTEGER NOT NULL DEFAULT 1,
    beat_at     INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    stopped     INTEGER NOT NULL DEFAULT 0 CHECK (stopped IN (0, 1)),
    capacity    INTEGER NOT NULL DEFAULT 0 CHECK (capacity >= 0),
    running     INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),
    browsers    TEXT    NOT NULL DEFAULT '[]' CHECK (json_valid(browsers) AND json_type(browsers) = 'array'),
    labels      TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(labels) AND json_type(labels) = 'object'),
    draining    INTEGER NOT NULL DEFAULT 0 CHECK (draining IN (0, 1))
) STRICT;

ALTER TABLE profiles ADD COLUMN node_id TEXT;

CREATE INDEX profiles_of_node ON profiles (node_id, id) WHERE node_id IS NOT NULL;

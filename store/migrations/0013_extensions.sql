-- +goose Up
-- Packages of extensions, and which of them a profile loads. schema.sql gives the reasons.

ALTER TABLE profiles ADD COLUMN extensions TEXT NOT NULL DEFAULT '[]' CHECK (extensions = '[]' OR json_valid(extensions) AND json_type(extensions) = 'array');

CREATE INDEX profiles_with_extensions ON profiles (workspace_id, id) WHERE extensions <> '[]';

CREATE TABLE extensions (
    id                   TEXT    NOT NULL PRIMARY KEY,
    workspace_id         TEXT    NOT NULL REFERENCES workspaces (id),
    extension_id         TEXT    NOT NULL CHECK (length(extension_id) = 32),
    name                 TEXT    NOT NULL,
    description          TEXT    NOT NULL,
    version              TEXT    NOT NULL,
    minimum_chrome       TEXT    NOT NULL,
    sha256               TEXT    NOT NULL CHECK (length(sha256) = 64),
    bytes                INTEGER NOT NULL,
    files                INTEGER NOT NULL,
    rules                INTEGER NOT NULL CHECK (rules IN (0, 1)),
    permissions          TEXT    NOT NULL CHECK (json_valid(permissions)),
    optional_permissions TEXT    NOT NULL CHECK (json_valid(optional_permissions)),
    hosts                TEXT    NOT NULL CHECK (json_valid(hosts)),
    optional_hosts       TEXT    NOT NULL CHECK (json_valid(optional_hosts)),
    created_at           INTEGER NOT NULL,
    UNIQUE (workspace_id, sha256)
) STRICT;

CREATE INDEX extensions_of_package ON extensions (sha256);

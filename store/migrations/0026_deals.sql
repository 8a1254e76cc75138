-- +goose Up
-- Proxies that were dealt to profiles which do not have them yet. schema.sql gives the reasons.

CREATE TABLE deals (
    id      TEXT NOT NULL PRIMARY KEY,
    node_id TEXT NOT NULL,
    proxies TEXT NOT NULL CHECK (json_valid(proxies) AND json_type(proxies) = 'object')
) STRICT;

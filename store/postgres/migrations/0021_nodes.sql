-- The servers of a database that several share, and where each profile's data lie. schema.sql gives the reasons.

CREATE TABLE nodes (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name        TEXT COLLATE "C" NOT NULL,
    address     TEXT COLLATE "C" NOT NULL,
    version     TEXT COLLATE "C" NOT NULL,
    incarnation TEXT COLLATE "C" NOT NULL,
    beat        BIGINT NOT NULL DEFAULT 1,
    beat_at     BIGINT NOT NULL,
    started_at  BIGINT NOT NULL,
    stopped     BIGINT NOT NULL DEFAULT 0 CHECK (stopped IN (0, 1)),
    capacity    BIGINT NOT NULL DEFAULT 0 CHECK (capacity >= 0),
    running     BIGINT NOT NULL DEFAULT 0 CHECK (running >= 0),
    browsers    TEXT COLLATE "C" NOT NULL DEFAULT '[]' CHECK (is_json(browsers, 'array')),
    labels      TEXT COLLATE "C" NOT NULL DEFAULT '{}' CHECK (is_json(labels, 'object')),
    draining    BIGINT NOT NULL DEFAULT 0 CHECK (draining IN (0, 1))
);

ALTER TABLE profiles ADD COLUMN node_id TEXT COLLATE "C";

CREATE INDEX profiles_of_node ON profiles (node_id, id) WHERE node_id IS NOT NULL;

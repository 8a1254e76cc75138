-- What must happen once where several servers share a database. schema.sql gives the reasons.

ALTER TABLE idempotency ADD COLUMN node_id TEXT COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE schedules ADD COLUMN node_id TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE TABLE duties (
    name   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    until  BIGINT NOT NULL
);

CREATE TABLE tickets (
    hash  BYTEA NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    key   TEXT COLLATE "C" NOT NULL,
    path  TEXT COLLATE "C" NOT NULL,
    until BIGINT NOT NULL
);

CREATE INDEX tickets_of_key ON tickets (key);
CREATE INDEX tickets_until ON tickets (until);

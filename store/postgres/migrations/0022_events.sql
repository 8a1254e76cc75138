-- Events for the subscribers of all servers. Only PostgreSQL has these tables: with SQLite there is one server, which keeps its events in
-- memory. The program writes them under an advisory lock, so that seq is the order of the commits.
--
-- origin is the life of the server that published the event. at is the time of this database, whatever the clocks of the servers say.
-- text is the whole event as subscribers get it.
CREATE TABLE events (
    seq          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id           TEXT COLLATE "C" NOT NULL UNIQUE,
    at           BIGINT NOT NULL DEFAULT now_ms(),
    origin       TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    key          TEXT COLLATE "C" NOT NULL,
    type         TEXT COLLATE "C" NOT NULL,
    text         TEXT COLLATE "C" NOT NULL
);

-- The highest seq that was removed. Who has read less has missed something.
CREATE TABLE events_removed (
    id    BIGINT PRIMARY KEY CHECK (id = 1),
    below BIGINT NOT NULL
);

INSERT INTO events_removed VALUES (1, 0);

-- compatible since 26
-- Proxies that were dealt to profiles which do not have them yet. schema.sql gives the reasons.

CREATE TABLE deals (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    node_id TEXT COLLATE "C" NOT NULL,
    proxies TEXT COLLATE "C" NOT NULL CHECK (is_json(proxies, 'object'))
);

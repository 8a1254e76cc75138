-- Which server has a pack. schema.sql gives the reasons.

ALTER TABLE packs ADD COLUMN node_id TEXT COLLATE "C" NOT NULL DEFAULT '';

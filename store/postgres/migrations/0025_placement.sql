-- On which servers a profile may be placed, and how busy each server is. schema.sql gives the reasons.

ALTER TABLE profiles ADD COLUMN placement TEXT COLLATE "C" CHECK (placement IS NULL OR is_json(placement, 'object'));

ALTER TABLE nodes ADD COLUMN pressure BIGINT NOT NULL DEFAULT 0 CHECK (pressure BETWEEN 0 AND 100);

-- The schema that each server knows, so that a newer one does not change the database under an older one that lives.
ALTER TABLE nodes ADD COLUMN schema BIGINT NOT NULL DEFAULT 0;

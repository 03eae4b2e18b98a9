-- The index that events are taken into: `postgres`, or `elasticsearch` with the id that is written into the index there.
ALTER TABLE index_state ADD COLUMN kept_up text NOT NULL DEFAULT 'postgres';

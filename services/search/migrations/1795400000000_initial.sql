-- levenshtein_less_equal: words that are similar to another.
CREATE EXTENSION fuzzystrmatch;

-- The tables of each generation of the index are in a separate schema (src/engine/postgres/tables.ts). Their facet sets
-- have ids from this sequence.
CREATE SEQUENCE index_facet_set_id;

-- Which generations are in use.
CREATE TABLE index_state (
  is_only    boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  -- The generation that searches use: its engine, layout and id. Null before the first.
  engine     text,
  layout     integer,
  generation text,
  -- When the live generation was built from the services completely; null if it was not.
  filled_at  timestamptz,
  -- The id of the generation that is being built, with the same engine and layout.
  building   text
);
INSERT INTO index_state DEFAULT VALUES;

-- The last operation of each kind on the whole index, or the one that is running.
CREATE TABLE index_operation (
  name     text        PRIMARY KEY CHECK (name IN ('reindex', 'drift')),
  started_at timestamptz NOT NULL,
  -- Null: it is running, or its process ended and it has to be done again.
  ended_at timestamptz,
  report   jsonb       NOT NULL DEFAULT '{}'
);
-- The first drift check is due one interval after this.
INSERT INTO index_operation (name, started_at) VALUES ('drift', now());

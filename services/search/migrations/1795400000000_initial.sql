-- levenshtein_less_equal: words that are similar to another.
CREATE EXTENSION fuzzystrmatch;

-- One row for each form of an entity. A row with deleted_at is a tombstone: late copies of the entity change
-- nothing. The columns that large listings read of each row precede the others and have a fixed width.
CREATE TABLE index_document (
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL,
  revision        bigint      NOT NULL,
  version_index   integer     NOT NULL,
  -- Derived from the live rows of the same parent in the transaction that writes any of them.
  is_latest       boolean     NOT NULL DEFAULT false,
  is_latest_draft boolean     NOT NULL DEFAULT false,
  has_draft       boolean     NOT NULL DEFAULT false,
  -- False for a published form until everything that was published with it is in the index.
  is_announced    boolean     NOT NULL DEFAULT true,
  -- Ids of sets of facet entries, each with a blank behind it: first the set of all entries of facets with given values, then one
  -- for each other value.
  facet_sets      text        NOT NULL DEFAULT '',
  record_access   text        NOT NULL CHECK (record_access IN ('public', 'restricted')),
  kind            text        NOT NULL CHECK (kind IN ('record', 'package')),
  id              text        NOT NULL,
  form            text        NOT NULL CHECK (form IN ('draft', 'published')),
  owner_id        text        NOT NULL,
  embargo_until   timestamptz,
  deleted_at      timestamptz,
  parent_id       text        NOT NULL,
  -- The parent of the package that manages a resource, whose access links open the resource too.
  managed_by      text,
  publication_from date,
  publication_to  date,
  -- Words of all fields as they are, words and values of one field with its name, present fields as `?field`.
  terms           tsvector    NOT NULL DEFAULT '',
  -- `type= folded words` and, in the next line, the value that is suggested for them.
  suggestions     text[]      NOT NULL DEFAULT '{}',
  CONSTRAINT index_document_pkey PRIMARY KEY (id, form)
) WITH (toast_tuple_target = 256);

-- Terms are stored out of line and uncompressed: ranking reads them much faster.
ALTER TABLE index_document ALTER COLUMN terms SET STORAGE EXTERNAL;
ALTER TABLE index_document ALTER COLUMN facet_sets SET STORAGE MAIN;

-- Every search reads the pending list of the index, so it is short.
CREATE INDEX index_document_terms ON index_document USING gin (terms) WITH (gin_pending_list_limit = 256);
-- Of all rows, with tombstones: the planner prefers an index of the live rows to that of the terms, and then looks for a common
-- word in the terms of every row.
CREATE INDEX index_document_newest ON index_document (created_at DESC, id);
CREATE INDEX index_document_owner ON index_document (owner_id);
CREATE INDEX index_document_parent ON index_document (parent_id);
CREATE INDEX index_document_managed ON index_document (managed_by) WHERE managed_by IS NOT NULL;
CREATE INDEX index_document_embargo ON index_document (embargo_until) WHERE embargo_until IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX index_document_tombstones ON index_document (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX index_document_unannounced ON index_document (id) WHERE NOT is_announced;

-- The boxes around an entity's geometries, longitudes from -180 to 180.
CREATE TABLE index_box (
  id     text NOT NULL,
  form   text NOT NULL,
  bounds box  NOT NULL,
  FOREIGN KEY (id, form) REFERENCES index_document (id, form) ON DELETE CASCADE
);
CREATE INDEX index_box_entity ON index_box (id, form);
CREATE INDEX index_box_bounds ON index_box USING gist (bounds);

-- Facet entries that documents share. Sets never change, and ids are unique over all indexes.
CREATE SEQUENCE index_facet_set_id;
CREATE TABLE index_facet_set (
  id      bigint PRIMARY KEY DEFAULT nextval('index_facet_set_id'),
  -- A hash of the entries, which may be too long for an index.
  key     text   NOT NULL UNIQUE,
  -- `facet=value`; the inner values of nested facets as `facet::outer=value`.
  entries text[] NOT NULL
);
CREATE INDEX index_facet_set_entries ON index_facet_set USING gin (entries) WITH (fastupdate = off);

-- Every word that a text of the index has or had, to find similar ones.
CREATE TABLE index_word (
  word text COLLATE "C" PRIMARY KEY
);

CREATE TABLE index_state (
  is_only   boolean     PRIMARY KEY DEFAULT true CHECK (is_only),
  -- Null until the index was filled from the services completely.
  filled_at timestamptz,
  -- The index that events are applied to: `postgres`, or `elasticsearch` with the id that is stored in the index there.
  kept_up   text        NOT NULL DEFAULT 'postgres'
);
INSERT INTO index_state DEFAULT VALUES;

-- The last operation of each kind on the whole index, or the one that is running.
CREATE TABLE index_operation (
  name     text        PRIMARY KEY CHECK (name IN ('reindex', 'drift')),
  begun_at timestamptz NOT NULL,
  -- Null: it is running, or its process ended and it has to be done again.
  ended_at timestamptz,
  report   jsonb       NOT NULL DEFAULT '{}'
);
-- The first drift check is due one interval after this.
INSERT INTO index_operation (name, begun_at) VALUES ('drift', now());

-- The number of live documents of an index, known without reading it or waiting while it is exchanged.
CREATE TABLE index_size (
  index_table regclass PRIMARY KEY,
  documents   bigint   NOT NULL
);
INSERT INTO index_size VALUES ('index_document', 0);

CREATE FUNCTION count_index_documents() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  more bigint := 0;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    UPDATE public.index_size SET documents = 0 WHERE index_table = TG_RELID;
    RETURN NULL;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    more := (SELECT count(*) FROM rows_after WHERE deleted_at IS NULL);
  END IF;
  IF TG_OP <> 'INSERT' THEN
    more := more - (SELECT count(*) FROM rows_before WHERE deleted_at IS NULL);
  END IF;
  -- Statements that change no rows, such as deleting old tombstones, do not wait for others.
  IF more <> 0 THEN
    UPDATE public.index_size SET documents = documents + more WHERE index_table = TG_RELID;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER count_inserted AFTER INSERT ON index_document REFERENCING NEW TABLE AS rows_after
  FOR EACH STATEMENT EXECUTE FUNCTION count_index_documents();
CREATE TRIGGER count_updated AFTER UPDATE ON index_document REFERENCING OLD TABLE AS rows_before NEW TABLE AS rows_after
  FOR EACH STATEMENT EXECUTE FUNCTION count_index_documents();
CREATE TRIGGER count_deleted AFTER DELETE ON index_document REFERENCING OLD TABLE AS rows_before
  FOR EACH STATEMENT EXECUTE FUNCTION count_index_documents();
CREATE TRIGGER count_truncated AFTER TRUNCATE ON index_document
  FOR EACH STATEMENT EXECUTE FUNCTION count_index_documents();

-- The same table with its columns in another order, and one more: what large listings read of each row stands first and has
-- a fixed width, so that they get at it without what is beside it. It takes the place of the former one at one moment.

-- Writers, which take turns by this lock, wait; searches go on.
SELECT pg_advisory_xact_lock(7160051);
SET LOCAL maintenance_work_mem = '256MB';

-- What is being built there has the former columns; it is begun again.
DROP SCHEMA IF EXISTS index_build CASCADE;

CREATE SCHEMA index_next;

-- One row for each form of an entity. A row with deleted_at is a tombstone: it keeps late copies out.
CREATE TABLE index_next.index_document (
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL,
  revision        bigint      NOT NULL,
  version_index   integer     NOT NULL,
  -- Derived from the live rows of the same parent in the transaction that writes any of them.
  is_latest       boolean     NOT NULL DEFAULT false,
  is_latest_draft boolean     NOT NULL DEFAULT false,
  has_draft       boolean     NOT NULL DEFAULT false,
  -- Published forms appear with everything they were published with. Who is written before that is kept back.
  is_announced    boolean     NOT NULL DEFAULT true,
  -- Ids of sets of facet entries, a blank behind each: the first of all entries of facets with given values, each
  -- further one of a value that somebody chose.
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
  -- For the release before, which reads its facets here; behind a `=` where this one has written the row.
  facets          text[]      NOT NULL DEFAULT '{}',
  CONSTRAINT index_document_pkey PRIMARY KEY (id, form)
) WITH (toast_tuple_target = 256);

-- Terms lie apart, uncompressed: ranking reads them much faster so.
ALTER TABLE index_next.index_document ALTER COLUMN terms SET STORAGE EXTERNAL;
ALTER TABLE index_next.index_document ALTER COLUMN facet_sets SET STORAGE MAIN;

INSERT INTO index_next.index_document (
  created_at, updated_at, revision, version_index, is_latest, is_latest_draft, has_draft, is_announced, id, form, kind,
  record_access, owner_id, embargo_until, deleted_at, parent_id, managed_by, publication_from, publication_to, terms,
  suggestions, facets
)
SELECT
  created_at, updated_at, revision, version_index, is_latest, is_latest_draft, has_draft, is_announced, id, form, kind,
  record_access, owner_id, embargo_until, deleted_at, parent_id, managed_by, publication_from, publication_to, terms,
  suggestions, facets
FROM index_document;

-- Every search reads what waits to be taken into the index of the terms.
CREATE INDEX index_document_terms ON index_next.index_document USING gin (terms)
  WITH (gin_pending_list_limit = 256);
-- Of all rows, with marks: another index of just the rows that are searched seems cheaper to the planner than that of the terms, and
-- a common word is then looked for in the terms of every row.
CREATE INDEX index_document_newest ON index_next.index_document (created_at DESC, id);
CREATE INDEX index_document_owner ON index_next.index_document (owner_id);
CREATE INDEX index_document_parent ON index_next.index_document (parent_id);
CREATE INDEX index_document_managed ON index_next.index_document (managed_by) WHERE managed_by IS NOT NULL;
CREATE INDEX index_document_embargo ON index_next.index_document (embargo_until) WHERE embargo_until IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX index_document_tombstones ON index_next.index_document (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX index_document_unannounced ON index_next.index_document (id) WHERE NOT is_announced;
-- What a process of the release before has written last, without sets.
CREATE INDEX index_document_former ON index_next.index_document (id)
  WHERE deleted_at IS NULL AND facets[1] IS DISTINCT FROM '=';

ANALYZE index_next.index_document;

-- In the order of searches, which come to their end within this time; longer it would keep the next ones waiting.
SET LOCAL lock_timeout = '5s';
LOCK TABLE index_document, index_box IN ACCESS EXCLUSIVE MODE;
ALTER TABLE index_box DROP CONSTRAINT index_box_id_form_fkey;
DROP TABLE index_document;
ALTER TABLE index_next.index_document SET SCHEMA public;
DROP SCHEMA index_next;
ALTER TABLE index_box ADD CONSTRAINT index_box_id_form_fkey
  FOREIGN KEY (id, form) REFERENCES index_document (id, form) ON DELETE CASCADE;

-- Facet entries that documents share. Sets never change, and no two ever have the same id, whichever index they are of.
CREATE SEQUENCE index_facet_set_id;
CREATE TABLE index_facet_set (
  id      bigint PRIMARY KEY DEFAULT nextval('index_facet_set_id'),
  -- Of the entries, which may be too long for an index.
  key     text   NOT NULL UNIQUE,
  -- `facet=value`; the inner values of nested facets as `facet::outer=value`.
  entries text[] NOT NULL
);

CREATE INDEX index_facet_set_entries ON index_facet_set USING gin (entries) WITH (fastupdate = off);

-- What is indexed already has no sets until it is written again.
UPDATE index_state SET filled_at = NULL;

-- One row for each form of an entity. A row with deleted_at is a tombstone: it keeps late copies out.
CREATE TABLE index_document (
  id              text        NOT NULL,
  form            text        NOT NULL CHECK (form IN ('draft', 'published')),
  kind            text        NOT NULL CHECK (kind IN ('record', 'package')),
  parent_id       text        NOT NULL,
  owner_id        text        NOT NULL,
  record_access   text        NOT NULL CHECK (record_access IN ('public', 'restricted')),
  embargo_until   timestamptz,
  version_index   integer     NOT NULL,
  -- Derived from the live rows of the same parent in the transaction that writes any of them.
  is_latest       boolean     NOT NULL DEFAULT false,
  is_latest_draft boolean     NOT NULL DEFAULT false,
  has_draft       boolean     NOT NULL DEFAULT false,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL,
  revision        bigint      NOT NULL,
  deleted_at      timestamptz,
  publication_from date,
  publication_to  date,
  -- Words of all fields as they are, words and values of one field as `=field=word`, present fields as `?field`.
  terms           tsvector    NOT NULL DEFAULT '',
  -- `facet=value`; the inner values of nested facets as `facet::outer=value`.
  facets          text[]      NOT NULL DEFAULT '{}',
  document        jsonb       NOT NULL,
  PRIMARY KEY (id, form)
);

CREATE INDEX index_document_terms ON index_document USING gin (terms) WHERE deleted_at IS NULL;
CREATE INDEX index_document_facets ON index_document USING gin (facets) WHERE deleted_at IS NULL;
CREATE INDEX index_document_newest ON index_document (created_at DESC, id) WHERE deleted_at IS NULL;
CREATE INDEX index_document_owner ON index_document (owner_id) WHERE deleted_at IS NULL;
CREATE INDEX index_document_parent ON index_document (parent_id);
CREATE INDEX index_document_embargo ON index_document (embargo_until) WHERE embargo_until IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX index_document_tombstones ON index_document (deleted_at) WHERE deleted_at IS NOT NULL;

-- The boxes around an entity's geometries, longitudes from -180 to 180.
CREATE TABLE index_box (
  id     text NOT NULL,
  form   text NOT NULL,
  bounds box  NOT NULL,
  FOREIGN KEY (id, form) REFERENCES index_document (id, form) ON DELETE CASCADE
);

CREATE INDEX index_box_entity ON index_box (id, form);
CREATE INDEX index_box_bounds ON index_box USING gist (bounds);

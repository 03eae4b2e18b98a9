/** Increased with every change of the tables, or of the contents of their columns. */
export const LAYOUT = 1;

/** The schema of a generation. */
export function schemaOf(generation: string): string {
  return `index_${generation}`;
}

export const SCHEMA_PREFIX = 'index_';

/** The tables of a generation, referenced ones first. */
export const TABLE_NAMES = ['index_document', 'index_box', 'index_facet_set', 'index_word'] as const;

/**
 * Storage parameters during bulk writes. Autovacuum would read whole tables after every tenth of growth and delay
 * writes. Without the number of workers the planner uses one process to sort, because it ignores the terms,
 * which are stored out of line.
 */
const BULK_SETTINGS = { autovacuum_enabled: 'off', 'toast.autovacuum_enabled': 'off', parallel_workers: '1' };
const settings = Object.entries(BULK_SETTINGS).map(([name, value]) => `${name} = ${value}`);

/** Creates the tables in the first schema of the search path, with the indexes that writers need. */
export const TABLES = `
  -- One row for each form of an entity. A row with deleted_at is a tombstone: it rejects late copies of the form.
  -- The columns that large listings read of each row precede the others and have a fixed width.
  CREATE TABLE index_document (
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    revision        bigint      NOT NULL,
    version_index   integer     NOT NULL,
    -- The flags follow from the other rows of the same parent; the rules are in index/decide-changes.ts.
    is_latest       boolean     NOT NULL DEFAULT false,
    is_latest_draft boolean     NOT NULL DEFAULT false,
    has_draft       boolean     NOT NULL DEFAULT false,
    is_staged       boolean     NOT NULL DEFAULT false,
    -- Ids of sets of facet entries, each followed by a blank: first the set of all entries of facets with fixed values,
    -- then one for each other value.
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
    content_hash    text        NOT NULL DEFAULT '',
    -- Words of all fields as they are, words and values of one field with its name, present fields as \`?field\`.
    terms           tsvector    NOT NULL DEFAULT '',
    -- \`type= folded words\` and, in the next line, the value that is suggested for them.
    suggestions     text[]      NOT NULL DEFAULT '{}',
    CONSTRAINT index_document_pkey PRIMARY KEY (id, form)
  ) WITH (toast_tuple_target = 256);
  -- Terms are stored out of line and uncompressed: ranking reads them much faster.
  ALTER TABLE index_document ALTER COLUMN terms SET STORAGE EXTERNAL;
  ALTER TABLE index_document ALTER COLUMN facet_sets SET STORAGE MAIN;
  CREATE INDEX index_document_parent ON index_document (parent_id);
  CREATE INDEX index_document_tombstones ON index_document (deleted_at) WHERE deleted_at IS NOT NULL;
  CREATE INDEX index_document_staged ON index_document (id) WHERE is_staged;

  -- The boxes around an entity's geometries, longitudes from -180 to 180.
  CREATE TABLE index_box (
    id     text NOT NULL,
    form   text NOT NULL,
    bounds box  NOT NULL,
    FOREIGN KEY (id, form) REFERENCES index_document (id, form) ON DELETE CASCADE
  );
  CREATE INDEX index_box_entity ON index_box (id, form);

  -- Facet entries that documents share. Sets never change, and ids are unique over all generations.
  CREATE TABLE index_facet_set (
    id      bigint PRIMARY KEY DEFAULT nextval('public.index_facet_set_id'),
    -- A hash of the entries, which may be too long for an index.
    key     text   NOT NULL UNIQUE,
    -- \`facet=value\`; the inner values of nested facets as \`facet::outer=value\`.
    entries text[] NOT NULL
  );

  -- Every word that a text of the index has or had, to find similar ones.
  CREATE TABLE index_word (
    word text COLLATE "C" PRIMARY KEY
  );
  ${TABLE_NAMES.map((table) => `ALTER TABLE ${table} SET (${settings.join(', ')});`).join('\n  ')}`;

/** The indexes that searches need. Built after all rows are written, which takes far less time. */
export const INDEXES: readonly string[] = [
  // Every search reads the pending list of the index, so it is short.
  'index_document_terms ON index_document USING gin (terms) WITH (gin_pending_list_limit = 256)',
  // Not partial: the planner would prefer a partial index to that of the terms, and test the terms of each row.
  'index_document_newest ON index_document (created_at DESC, id)',
  'index_document_owner ON index_document (owner_id)',
  'index_document_managed ON index_document (managed_by) WHERE managed_by IS NOT NULL',
  'index_document_embargo ON index_document (embargo_until) WHERE embargo_until IS NOT NULL AND deleted_at IS NULL',
  'index_box_bounds ON index_box USING gist (bounds)',
  'index_facet_set_entries ON index_facet_set USING gin (entries) WITH (fastupdate = off)',
].map((index) => `CREATE INDEX CONCURRENTLY IF NOT EXISTS ${index}`);

export const RESET_BULK_SETTINGS = TABLE_NAMES.map(
  (table) => `ALTER TABLE ${table} RESET (${Object.keys(BULK_SETTINGS).join(', ')})`,
).join('; ');

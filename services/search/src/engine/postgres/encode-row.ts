import type { IndexRow } from '../../documents/index-row.ts';
import { sqlDate } from './compile-sql.ts';
import { type FacetSet, facetSets } from './facets.ts';
import { suggestionEntry } from './suggest.ts';
import { termsVector } from './terms-vector.ts';

/** A form as parameters of the statements in `stored-rows.ts`. */
export interface EncodedRow {
  /** The columns of `COLUMNS`, `boxes` and `facet_keys`, as JSON. */
  json: string;
  /** The column `terms`, in the binary form of Postgres. */
  terms: Buffer;
  sets: readonly FacetSet[];
  /** The words of the texts. */
  words: readonly string[];
}

/** The columns of a form that a row has, with their types. */
export const COLUMNS = {
  id: 'text',
  form: 'text',
  kind: 'text',
  parent_id: 'text',
  managed_by: 'text',
  owner_id: 'text',
  record_access: 'text',
  embargo_until: 'timestamptz',
  version_index: 'integer',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  revision: 'bigint',
  publication_from: 'date',
  publication_to: 'date',
  content_hash: 'text',
  suggestions: 'text[]',
} as const;

export function* encodeRow(row: IndexRow): Generator<void, EncodedRow> {
  const { vector, words } = yield* termsVector(row.terms);
  const sets = facetSets(row.facets);
  const columns: Record<keyof typeof COLUMNS, unknown> = {
    id: row.id,
    form: row.form,
    kind: row.kind,
    parent_id: row.parentId,
    managed_by: row.managedBy,
    owner_id: row.ownerId,
    record_access: row.recordAccess,
    embargo_until: row.embargoUntil,
    version_index: row.versionIndex,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
    revision: row.revision,
    publication_from: row.publicationFrom === null ? null : sqlDate(row.publicationFrom),
    publication_to: row.publicationTo === null ? null : sqlDate(row.publicationTo),
    content_hash: row.contentHash,
    suggestions: row.suggestions.map(suggestionEntry),
  };
  const boxes = row.boxes.map(({ west, south, east, north }) => `((${east},${north}),(${west},${south}))`);
  const json = JSON.stringify({ ...columns, boxes, facet_keys: sets.map(({ key }) => key) });
  return { json, terms: vector, sets, words };
}

/** The oid of the type. */
const TSVECTOR = 3614;

/** An array of tsvectors, of one dimension and without nulls, in the format of `array_recv`. */
export function vectorArray(vectors: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(20);
  head.writeInt32BE(1, 0);
  head.writeInt32BE(TSVECTOR, 8);
  head.writeInt32BE(vectors.length, 12);
  head.writeInt32BE(1, 16);
  return Buffer.concat([head, ...vectors.flatMap((vector) => [lengthOf(vector), vector])]);
}

function lengthOf(element: Buffer): Buffer {
  const length = Buffer.allocUnsafe(4);
  length.writeInt32BE(element.length);
  return length;
}

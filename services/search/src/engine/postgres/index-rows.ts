import { type IndexedEntity, SUGGESTION_TYPES } from '../search-engine.ts';
import { yieldToEventLoop } from '../yield-to-event-loop.ts';
import { sqlDate } from './compile-sql.ts';
import { type FacetSet, facetSets } from './facets.ts';
import { suggestionEntry } from './suggest.ts';
import { termsByValue } from './terms-vector.ts';

/** An array of one dimension, without nulls, as `array_recv` of Postgres reads it; `elementType` is the oid. */
function binaryArray(elements: readonly Buffer[], elementType: number): Buffer {
  const head = Buffer.alloc(20);
  head.writeInt32BE(1, 0);
  head.writeInt32BE(elementType, 8);
  head.writeInt32BE(elements.length, 12);
  head.writeInt32BE(1, 16);
  return Buffer.concat([head, ...elements.flatMap((element) => [lengthOf(element), element])]);
}

function lengthOf(element: Buffer): Buffer {
  const length = Buffer.allocUnsafe(4);
  length.writeInt32BE(element.length);
  return length;
}

interface EntityRows {
  /** The parameters of `INCOMING`. */
  rows: string;
  terms: Buffer;
  /** The parameter of `FACET_SETS`, which precedes it. */
  sets: string;
  /** The words of the texts. */
  words: string[];
}

/** The number that Postgres has for the type, of which the parameter is an array. */
const TSVECTOR = 3614;

/** The rows of entities. Tokenising texts takes a fraction of a millisecond, or a second for large ones. */
export async function entityRows(entities: readonly IndexedEntity[]): Promise<EntityRows> {
  const words = new Set<string>();
  const sets = new Map<string, FacetSet>();
  const rows: string[] = [];
  const vectors: Buffer[] = [];
  const inTurns = yieldToEventLoop();
  for (const entity of entities) {
    const terms = await inTurns(termsByValue(entity.document));
    for (const word of terms.words) words.add(word);
    const own = facetSets(entity.facets);
    for (const set of own) sets.set(set.key, set);
    rows.push(JSON.stringify(entityRow(entity, own)));
    vectors.push(terms.vector);
  }
  return {
    rows: `[${rows.join(',')}]`,
    terms: binaryArray(vectors, TSVECTOR),
    sets: JSON.stringify([...sets.values()]),
    words: [...words],
  };
}

function entityRow(entity: IndexedEntity, sets: readonly FacetSet[]) {
  return {
    id: entity.id,
    form: entity.form,
    kind: entity.kind,
    parent_id: entity.parentId,
    managed_by: entity.managedBy,
    owner_id: entity.ownerId,
    record_access: entity.recordAccess,
    embargo_until: entity.embargoUntil,
    version_index: entity.versionIndex,
    created_at: entity.createdAt,
    updated_at: entity.updatedAt,
    revision: entity.revision,
    publication_from: entity.publicationFrom === null ? null : sqlDate(entity.publicationFrom),
    publication_to: entity.publicationTo === null ? null : sqlDate(entity.publicationTo),
    facet_keys: sets.map(({ key }) => key),
    suggestions: SUGGESTION_TYPES.flatMap((type) =>
      entity.suggestions[type].map((value) => suggestionEntry(type, value)),
    ),
    boxes: entity.boxes.map(({ west, south, east, north }) => `((${east},${north}),(${west},${south}))`),
  };
}

/** The index columns of a form, without its id. */
const COLUMNS = {
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
  suggestions: 'text[]',
} as const;
const GIVEN = Object.entries({ id: 'text', form: 'text', boxes: 'text[]', facet_keys: 'text[]', ...COLUMNS });
/** The columns of a form, without its id; values derived from siblings are added later. */
export const CONTENT = [...Object.keys(COLUMNS), 'terms', 'facet_sets'];

/** The columns of one form, as a row to compare. */
export const contentOf = (alias: string): string =>
  `(${CONTENT.map((name) => `${alias}.${name}`).join(', ')})`;

/**
 * The result of `entityRows` for entities, in the parameters 1 (rows) and 4 (terms). Each set is looked up separately: a
 * join would read all sets for each row if the planner expects few, as in an index that is being built.
 */
export const INCOMING = `
  SELECT *, (
    SELECT string_agg((SELECT s.id FROM index_facet_set s WHERE s.key = k.key) || ' ', '' ORDER BY place)
    FROM unnest(x.facet_keys) WITH ORDINALITY AS k (key, place)
  ) AS facet_sets
  FROM ROWS FROM (
    jsonb_to_recordset($1::jsonb) AS (${GIVEN.map(([name, type]) => `${name} ${type}`).join(', ')}),
    unnest($4::tsvector[])
  ) AS x (${GIVEN.map(([name]) => name).join(', ')}, terms)`;

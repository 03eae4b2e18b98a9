import { ENTITY_KINDS } from '../../documents/entity.ts';
import type { EngineSearch, Scope, Sort, SortPosition, Viewer } from '../search-engine.ts';
import { narrowingValues, type Readable, readableDrafts, readablePublished } from '../search-rules.ts';
import { type CompiledQuery, compileSql } from './compile-sql.ts';
import { facetEntry, isFree } from './facets.ts';
import { Parameters } from './parameters.ts';
import type { SimilarWords } from './similar-words.ts';

export type FieldSort = Exclude<Sort, 'bestmatch'>;

const TIES = 'd.id COLLATE "C", d.form';
/** The sort columns of `index_document`, or of a selection from it; aliased `d`. */
const ORDER: Readonly<Record<FieldSort, string>> = {
  newest: `d.created_at DESC, ${TIES}`,
  oldest: `d.created_at, ${TIES}`,
  version: `d.version_index DESC, d.created_at DESC, ${TIES}`,
  'updated-desc': `d.updated_at DESC, ${TIES}`,
  'updated-asc': `d.updated_at, ${TIES}`,
};

/** The condition for rows after a position in the order of a sort. */
function seekAfter(position: SortPosition, sort: FieldSort, parameters: Parameters): string {
  const id = parameters.add(position.id);
  const form = parameters.add(position.form);
  const ties = `(${TIES}) > (${id}, ${form})`;
  const instant = (text: string) => `${parameters.add(text)}::timestamptz`;
  // The first condition can be the start of an index scan.
  const pastBound = (column: string, isDescending: boolean, value: string, equal: string) => {
    const sign = isDescending ? '<' : '>';
    return `(${column} ${sign}= ${value} AND (${column} ${sign} ${value} OR ${equal}))`;
  };
  switch (sort) {
    case 'newest':
    case 'oldest':
      return pastBound('d.created_at', sort === 'newest', instant(position.createdAt), ties);
    case 'updated-desc':
    case 'updated-asc':
      return pastBound('d.updated_at', sort === 'updated-desc', instant(position.updatedAt), ties);
    case 'version': {
      const version = `${parameters.add(position.versionIndex)}::integer`;
      return pastBound(
        'd.version_index',
        true,
        version,
        pastBound('d.created_at', true, instant(position.createdAt), ties),
      );
    }
  }
}

/**
 * The documents of a listing, as conditions on the columns of `index_document`, aliased `d`. They are combined with the
 * user's query by AND, so no query can widen them. `isByWords`: there is a query, whose index finds the rows.
 */
export function scopeConditions(
  { scope, viewer, now, isByWords }: { scope: Scope; viewer: Viewer; now: Date; isByWords: boolean },
  parameters: Parameters,
): string[] {
  const conditions = ['d.deleted_at IS NULL'];
  if (new Set(scope.kinds).size < ENTITY_KINDS.length) {
    conditions.push(`d.kind = ANY (${parameters.add([...scope.kinds])}::text[])`);
  }
  if (scope.onlyIds !== null) conditions.push(`d.id = ANY (${parameters.add([...scope.onlyIds])}::text[])`);
  // Staged forms are never the latest, and large listings feel each condition.
  else if (scope.forms !== 'published' || !scope.latestOnly) conditions.push('NOT d.is_staged');
  switch (scope.forms) {
    case 'published':
      // Written so that no index is used: nearly all rows are published.
      conditions.push(scope.latestOnly ? 'd.is_latest' : `d.form <> 'draft'`);
      conditions.push(readableSql(readablePublished(viewer), now, parameters));
      break;
    case 'own': {
      const own = readableSql(readableDrafts(viewer, scope), now, parameters);
      // Otherwise the terms of all documents of a prolific owner would be read.
      conditions.push(`(d.form = 'draft' OR NOT d.has_draft)`, isByWords ? `(${own}) IS TRUE` : own);
      if (scope.latestOnly) conditions.push('d.is_latest_draft');
      break;
    }
    case 'either': {
      const draft = readableSql(readableDrafts(viewer, scope), now, parameters);
      conditions.push(
        `CASE d.form WHEN 'draft' THEN ${draft}` +
          ` ELSE ${readableSql(readablePublished(viewer), now, parameters)} AND NOT (d.has_draft AND coalesce(${draft}, false)) END`,
      );
      if (scope.latestOnly) conditions.push('d.is_latest_draft');
      break;
    }
  }
  return conditions;
}

function readableSql(readable: Readable, now: Date, parameters: Parameters): string {
  if (readable === 'all') return 'true';
  const { isPublic, ownerId, parentIds } = readable;
  const embargoEnds = () => `${parameters.add(now.toISOString())}::timestamptz`;
  const isOneOf = (column: string, ids: string) => `${column} = ANY (${ids}::text[])`;
  const ids = parentIds.length === 0 ? null : parameters.add([...parentIds]);
  const conditions = [
    ...(isPublic
      ? [`d.record_access = 'public'`, `coalesce(d.embargo_until <= ${embargoEnds()}, false)`]
      : []),
    ...(ownerId === null ? [] : [`d.owner_id = ${parameters.add(ownerId)}`]),
    ...(ids === null ? [] : [isOneOf('d.parent_id', ids), isOneOf('d.managed_by', ids)]),
  ];
  return conditions.length > 0 ? `(${conditions.join(' OR ')})` : 'false';
}

export interface SearchStatement {
  text: string;
  values: readonly unknown[];
}

/**
 * Ranking costs the same for each match. Of more matches only the newest, and the newest of those with the highest
 * expected ranks, are ranked; the others follow after them.
 */
export const MAX_RANKED = 200;

/** Where more of all documents match, the newest matches are sooner found among the newest documents. */
const COMMON_SHARE = 0.25;

const instantText = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const POSITIONED = 'd.kind, d.id, d.form, d.created_at, d.updated_at, d.version_index';
/** An `EngineHit`. Only for the rows of the page, because formatting is slow. */
const HIT = `json_build_object('kind', kind, 'id', id, 'form', form, 'createdAt', ${instantText('created_at')},
  'updatedAt', ${instantText('updated_at')}, 'versionIndex', version_index)`;

/**
 * One statement, so one snapshot, for the hits, the total and the facets. It returns one row: `hits`, `total`, `facet_sets` (the ids of the facet sets of all matches, selected or
 * not; empty unless facets are requested), `missing` (an array of ids), and `live` (the live generation).
 */
export function searchSql(search: EngineSearch, similar: SimilarWords, schema: string): SearchStatement {
  const parameters = new Parameters(schema);
  const compiled = search.query === null ? null : compileSql(search.query, parameters, similar);
  const visible = conjunction([
    ...scopeConditions({ ...search, isByWords: compiled !== null }, parameters),
    ...(compiled ? [compiled.where] : []),
    ...boxConditions(search, parameters),
  ]);
  const selected = conjunction(selectionConditions(search.selected, parameters));
  const text = `
    WITH counted AS MATERIALIZED (
      SELECT count(*) FILTER (WHERE ${selected}) AS total,
        ${search.facets.length > 0 ? `coalesce(string_agg(d.facet_sets, ''), '')` : `''`} AS facet_sets
      FROM ${schema}.index_document d WHERE ${visible}
    ), ${pageSql(search, compiled, `${visible} AND ${selected}`, parameters)}
    SELECT
      (SELECT coalesce(json_agg(${HIT}), '[]') FROM page) AS hits,
      counted.total,
      counted.facet_sets,
      ${missingIds(search.scope, parameters)} AS missing,
      (SELECT generation FROM index_state) AS live
    FROM counted`;
  return { text, values: parameters.values };
}

const conjunction = (conditions: readonly string[]): string =>
  conditions.length > 0 ? conditions.join(' AND ') : 'true';

function pageSql(
  search: EngineSearch,
  compiled: CompiledQuery | null,
  matches: string,
  parameters: Parameters,
): string {
  // A parameter that the statement does not use is an error, so the rank is compiled only where it counts.
  const rank = search.sort === 'bestmatch' ? (compiled?.rank() ?? null) : null;
  if (compiled !== null && rank !== null) return rankedPage(search, { compiled, rank, matches }, parameters);
  const sort = search.sort === 'bestmatch' ? 'newest' : search.sort;
  const after = search.after === null ? [] : [seekAfter(search.after, sort, parameters)];
  return `page AS (
    SELECT ${POSITIONED} FROM ${parameters.schema}.index_document d WHERE ${conjunction([matches, ...after])}
    ORDER BY ${ORDER[sort]} ${limit(search, parameters)}
  )`;
}

function limit(search: EngineSearch, parameters: Parameters): string {
  return `LIMIT ${parameters.add(search.limit)} OFFSET ${parameters.add(search.offset)}`;
}

interface Ranking {
  compiled: CompiledQuery;
  rank: string;
  matches: string;
}

/** The ranked matches are followed by the others. */
function rankedPage(
  search: EngineSearch,
  { compiled, rank, matches }: Ranking,
  parameters: Parameters,
): string {
  const commonSql = `(SELECT total > ${COMMON_SHARE} * reltuples FROM counted, pg_class c WHERE c.oid = '${parameters.schema}.index_document'::regclass)`;
  const tooManySql = `(SELECT total > ${MAX_RANKED} FROM counted)`;
  const candidates = [
    newestCandidates(`${commonSql} AND ${matches}`, 'd.created_at', parameters),
    newestCandidates(`NOT ${commonSql} AND ${matches}`, CREATED_AT_UNINDEXED, parameters),
    ...compiled
      .rankCandidates()
      .map((condition) =>
        newestCandidates(`${tooManySql} AND ${condition} AND ${matches}`, CREATED_AT_UNINDEXED, parameters),
      ),
  ];
  const isAmongRanked = search.offset + search.limit <= MAX_RANKED;
  const page = isAmongRanked
    ? `SELECT ${POSITIONED} FROM ranked d ORDER BY d.rank DESC`
    : `SELECT ${POSITIONED} FROM ${parameters.schema}.index_document d LEFT JOIN ranked r ON r.row_id = d.ctid WHERE ${matches}
       ORDER BY r.rank DESC NULLS LAST`;
  return `candidates AS (${candidates.join(' UNION ')}),
    ranked AS MATERIALIZED (
      SELECT d.ctid AS row_id, ${POSITIONED}, ${rank} AS rank FROM candidates c JOIN ${parameters.schema}.index_document d ON d.ctid = c.row_id
    ), page AS (${page}, ${ORDER.newest} ${limit(search, parameters)})`;
}

/** The addition keeps the planner off `index_document_newest`: it finds the rows by their words first. */
const CREATED_AT_UNINDEXED = `d.created_at + interval '0'`;

/** `createdAt`: the column, or an expression of its value. */
function newestCandidates(condition: string, createdAt: string, { schema }: Parameters): string {
  return `(
    SELECT d.ctid AS row_id FROM ${schema}.index_document d WHERE ${condition}
    ORDER BY ${ORDER.newest.replace('d.created_at', createdAt)} LIMIT ${MAX_RANKED}
  )`;
}

function missingIds({ onlyIds, publishedIds, forms }: Scope, parameters: Parameters): string {
  if (onlyIds === null) return `'[]'::json`;
  const published = `${parameters.add([...publishedIds])}::text[]`;
  const expected = forms === 'published' ? published : `${parameters.add([...onlyIds])}::text[]`;
  return `(
    SELECT coalesce(json_agg(expected.id), '[]') FROM unnest(${expected}) AS expected (id)
    WHERE NOT EXISTS (
      SELECT FROM ${parameters.schema}.index_document d
      WHERE d.id = expected.id AND d.deleted_at IS NULL
        AND (d.form = 'published' OR expected.id <> ALL (${published}))
    ))`;
}

function boxConditions({ boxes }: EngineSearch, parameters: Parameters): string[] {
  if (boxes === null) return [];
  const overlaps = boxes.map(({ west, south, east, north }) => {
    const corners = [west, south, east, north].map((degrees) => `${parameters.add(degrees)}::float8`);
    return `b.bounds && box(point(${corners[0]}, ${corners[1]}), point(${corners[2]}, ${corners[3]}))`;
  });
  return [
    `(d.id, d.form) IN (SELECT b.id, b.form FROM ${parameters.schema}.index_box b WHERE ${overlaps.join(' OR ')})`,
  ];
}

/** For fixed facets a document has one set, so its first id is compared; for free facets, any of its ids. */
function selectionConditions(selected: EngineSearch['selected'], parameters: Parameters): string[] {
  return Object.entries(selected).map(([facet, values]) => {
    const entries = parameters.add(narrowingValues(facet, values).map((value) => facetEntry(facet, value)));
    const sets = `SELECT s.id::text FROM ${parameters.schema}.index_facet_set s WHERE s.entries && ${entries}::text[]`;
    return isFree(facet)
      ? `string_to_array(d.facet_sets, ' ') && ARRAY(${sets})`
      : `split_part(d.facet_sets, ' ', 1) IN (${sets})`;
  });
}

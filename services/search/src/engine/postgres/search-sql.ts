import type { EngineSearch, Place, Scope, Sort, Viewer } from '../search-engine.ts';
import { compileSql } from './compile-sql.ts';
import { Parameters } from './parameters.ts';
import type { SimilarWords } from './similar-words.ts';

export interface SearchStatement {
  text: string;
  values: readonly unknown[];
}

/** Ranking costs the same for each match; beyond this many only the newest are ranked. */
const MOST_RANKED = 20_000;
const BUCKETS = 10;

const instantText = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const PLACED = 'd.kind, d.id, d.form, d.created_at, d.updated_at, d.version_index';
/** Of the rows of a page alone: written before they are chosen, it would be for all rows. */
const HIT = `kind, id, form, ${instantText('created_at')}, ${instantText('updated_at')}, version_index`;

const TIES = 'd.id COLLATE "C", d.form';
const ORDER: Readonly<Record<Exclude<Sort, 'bestmatch'>, string>> = {
  newest: `d.created_at DESC, ${TIES}`,
  oldest: `d.created_at, ${TIES}`,
  version: `d.version_index DESC, d.created_at DESC, ${TIES}`,
  'updated-desc': `d.updated_at DESC, ${TIES}`,
  'updated-asc': `d.updated_at, ${TIES}`,
};

/**
 * One statement, so one snapshot, for the hits, the total and the facets. It answers one row: `hits` (an array of kind,
 * id, form, creation, update and version), `total`, `facets` (an array of facet, value and count), `missing` (an
 * array of ids), and `kept_up` (the name of the index that events go into).
 */
export function searchSql(search: EngineSearch, similar: SimilarWords): SearchStatement {
  const parameters = new Parameters();
  const compiled = search.query === null ? null : compileSql(search.query, parameters, similar);
  const visible = [
    'd.deleted_at IS NULL',
    ...scopeConditions(search.scope, search.viewer, search.now, parameters),
    ...(compiled ? [compiled.where] : []),
    ...boxConditions(search, parameters),
  ];
  const selected = selectionConditions(search.selected, parameters);
  const limit = `LIMIT ${parameters.add(search.limit)} OFFSET ${parameters.add(search.offset)}`;
  // A parameter that the statement does not use is an error, so the rank is compiled only where it counts.
  const rank = search.sort === 'bestmatch' ? (compiled?.rank() ?? null) : null;
  const sort = search.sort === 'bestmatch' ? 'newest' : search.sort;
  const behindPlace = search.after === null ? [] : [behind(search.after, sort, parameters)];
  const page =
    rank !== null
      ? `SELECT ${PLACED}
         FROM (SELECT * FROM selected d ORDER BY ${ORDER.newest} LIMIT ${MOST_RANKED}) s
         JOIN index_document d USING (id, form)
         ORDER BY ${rank} DESC, ${ORDER.newest} ${limit}`
      : `SELECT ${PLACED} FROM ${isWhole(search) ? 'index_document' : 'selected'} d
         WHERE ${conjunction(isWhole(search) ? [...visible, ...behindPlace] : behindPlace)}
         ORDER BY ${ORDER[sort]} ${limit}`;
  const usesFacets = search.facets.length > 0 || selected.length > 0;
  const text = `
    WITH visible AS ${isWhole(search) && search.facets.length === 0 ? 'NOT' : ''} MATERIALIZED (
      SELECT d.id, d.form, d.kind, d.created_at, d.updated_at, d.version_index${usesFacets ? ', d.facets' : ''}
      FROM index_document d WHERE ${conjunction(visible)}
    ), selected AS (
      SELECT * FROM visible d WHERE ${conjunction(selected)}
    ), page AS (${page})
    SELECT
      (SELECT coalesce(json_agg(json_build_array(${HIT})), '[]') FROM page) AS hits,
      (SELECT count(*) FROM selected) AS total,
      ${facetCounts(search.facets, parameters)} AS facets,
      ${missingIds(search.scope, parameters)} AS missing,
      (SELECT kept_up FROM index_state) AS kept_up`;
  return { text, values: parameters.values };
}

const conjunction = (conditions: readonly string[]): string =>
  conditions.length > 0 ? conditions.join(' AND ') : 'true';

/** Whether most of the index is listed: then a page is sooner read in the order of an index than chosen from all rows. */
function isWhole({ query, boxes, scope, selected }: EngineSearch): boolean {
  const isNarrowed = query !== null || boxes !== null || Object.keys(selected).length > 0;
  return !isNarrowed && scope.onlyIds === null && scope.forms === 'published';
}

function facetCounts(facets: readonly string[], parameters: Parameters): string {
  if (facets.length === 0) return `'[]'::json`;
  return `(
    SELECT coalesce(json_agg(json_build_array(facet, value, count) ORDER BY facet, place), '[]')
    FROM (
      SELECT facet, value, count,
        row_number() OVER (PARTITION BY facet ORDER BY count DESC, value COLLATE "C") AS place
      FROM (
        SELECT split_part(entry, '=', 1) AS facet, substr(entry, strpos(entry, '=') + 1) AS value, count
        FROM (
          SELECT entry, count(*) AS count FROM visible, unnest(facets) AS entry
          WHERE split_part(split_part(entry, '=', 1), '::', 1) = ANY (${parameters.add([...facets])}::text[])
          GROUP BY entry
        ) AS grouped
      ) AS entries
    ) AS counted
    WHERE place <= ${BUCKETS})`;
}

/** What comes after a place in the order of a sort. */
function behind(place: Place, sort: Exclude<Sort, 'bestmatch'>, parameters: Parameters): string {
  const id = parameters.add(place.id);
  const form = parameters.add(place.form);
  const ties = `(${TIES}) > (${id}, ${form})`;
  const instant = (text: string) => `${parameters.add(text)}::timestamptz`;
  // The first condition is one that an index can begin at.
  const beyond = (column: string, isDescending: boolean, value: string, equal: string) => {
    const sign = isDescending ? '<' : '>';
    return `(${column} ${sign}= ${value} AND (${column} ${sign} ${value} OR ${equal}))`;
  };
  switch (sort) {
    case 'newest':
    case 'oldest':
      return beyond('d.created_at', sort === 'newest', instant(place.createdAt), ties);
    case 'updated-desc':
    case 'updated-asc':
      return beyond('d.updated_at', sort === 'updated-desc', instant(place.updatedAt), ties);
    case 'version': {
      const version = `${parameters.add(place.versionIndex)}::integer`;
      return beyond(
        'd.version_index',
        true,
        version,
        beyond('d.created_at', true, instant(place.createdAt), ties),
      );
    }
  }
}

function missingIds({ onlyIds, publishedIds, forms }: Scope, parameters: Parameters): string {
  if (onlyIds === null) return `'[]'::json`;
  const shown =
    forms === 'published' ? 'true' : `wanted.id = ANY (${parameters.add([...publishedIds])}::text[])`;
  return `(
    SELECT coalesce(json_agg(wanted.id), '[]') FROM unnest(${parameters.add([...onlyIds])}::text[]) AS wanted (id)
    WHERE NOT EXISTS (
      SELECT FROM index_document d
      WHERE d.id = wanted.id AND d.deleted_at IS NULL AND (d.form = 'published' OR NOT (${shown}))
    ))`;
}

export function scopeConditions(scope: Scope, viewer: Viewer, now: Date, parameters: Parameters): string[] {
  const conditions = [`d.kind = ANY (${parameters.add([...scope.kinds])}::text[])`];
  conditions.push(
    scope.onlyIds === null ? 'd.is_announced' : `d.id = ANY (${parameters.add([...scope.onlyIds])}::text[])`,
  );
  switch (scope.forms) {
    case 'published':
      conditions.push(`d.form = 'published'`, mayRead(viewer, now, parameters));
      if (scope.latestOnly) conditions.push('d.is_latest');
      break;
    case 'own':
      conditions.push(
        `(d.form = 'draft' OR NOT d.has_draft)`,
        mayReadDraft({ ...viewer, seesAll: false }, parameters),
      );
      if (scope.latestOnly) conditions.push('d.is_latest_draft');
      break;
    case 'either': {
      const draft = mayReadDraft(viewer, parameters);
      conditions.push(
        `CASE d.form WHEN 'draft' THEN ${draft}` +
          ` ELSE ${mayRead(viewer, now, parameters)} AND NOT (d.has_draft AND coalesce(${draft}, false)) END`,
      );
      if (scope.latestOnly) conditions.push('d.is_latest_draft');
      break;
    }
  }
  return conditions;
}

/** Published forms: what is public, what is one's own, what a link opens. */
function mayRead(viewer: Viewer, now: Date, parameters: Parameters): string {
  if (viewer.seesAll) return 'true';
  const open = [
    `d.record_access = 'public'`,
    `coalesce(d.embargo_until <= ${parameters.add(now.toISOString())}::timestamptz, false)`,
  ];
  return `(${[...open, ...personal(viewer.userId, viewer.viewParentIds, parameters)].join(' OR ')})`;
}

function mayReadDraft(viewer: Viewer, parameters: Parameters): string {
  if (viewer.seesAll) return 'true';
  const conditions = personal(viewer.userId, viewer.previewParentIds, parameters);
  return conditions.length > 0 ? `(${conditions.join(' OR ')})` : 'false';
}

function personal(userId: string | null, parentIds: readonly string[], parameters: Parameters): string[] {
  return [
    ...(userId === null ? [] : [`d.owner_id = ${parameters.add(userId)}`]),
    ...(parentIds.length === 0 ? [] : [openedBy(parameters.add([...parentIds]))]),
  ];
}

/** What links of these parents open: a package's open the resources that it manages. */
function openedBy(parentIds: string): string {
  return `d.parent_id = ANY (${parentIds}::text[]) OR d.managed_by = ANY (${parentIds}::text[])`;
}

function boxConditions({ boxes }: EngineSearch, parameters: Parameters): string[] {
  if (boxes === null) return [];
  const overlaps = boxes.map(({ west, south, east, north }) => {
    const corners = [west, south, east, north].map((degrees) => `${parameters.add(degrees)}::float8`);
    return `b.bounds && box(point(${corners[0]}, ${corners[1]}), point(${corners[2]}, ${corners[3]}))`;
  });
  return [`(d.id, d.form) IN (SELECT b.id, b.form FROM index_box b WHERE ${overlaps.join(' OR ')})`];
}

function selectionConditions(selected: EngineSearch['selected'], parameters: Parameters): string[] {
  return Object.entries(selected).map(
    ([facet, values]) => `d.facets && ${parameters.add(selectionEntries(facet, values))}::text[]`,
  );
}

/** A chosen outer value of a nested facet gives way to chosen inner values of its own. */
function selectionEntries(facet: string, values: readonly string[]): string[] {
  const outerWithInner = new Set(
    values.flatMap((value) => (value.includes('::') ? [value.split('::', 1)[0]] : [])),
  );
  return values.filter((value) => !outerWithInner.has(value)).map((value) => facetEntry(facet, value));
}

/** How a value stands in the `facets` column: `facet=value`, or `facet::outer=inner`. */
export function facetEntry(facet: string, value: string): string {
  const separator = facet === 'resource_type' ? value.indexOf('::') : -1;
  if (separator < 0) return `${facet}=${value}`;
  return `${facet}::${value.slice(0, separator)}=${value.slice(separator + 2)}`;
}

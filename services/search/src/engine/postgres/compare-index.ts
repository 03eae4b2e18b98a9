import type pg from 'pg';
import type { EntityForm, EntityKind, IndexDifference, IndexedEntity } from '../search-engine.ts';
import { contentOf, entityRows, INCOMING } from './index-rows.ts';
import { documentTerms } from './terms-vector.ts';
import { FLAGS_OF } from './write-changes.ts';

/**
 * Compares rows with the expected ones; boxes in any order. Values derived from siblings are compared as if
 * none were hidden: a hidden form is a separate difference.
 */
const COMPARE = `
  WITH incoming AS (${INCOMING}), siblings AS (
    SELECT id, form, parent_id, version_index, true AS is_announced FROM incoming
    UNION ALL
    SELECT id, form, parent_id, version_index, true FROM index_document
    WHERE deleted_at IS NULL AND id <> ALL ($2::text[]) AND parent_id IN (SELECT parent_id FROM incoming)
  ), flags AS (SELECT ${FLAGS_OF} FROM siblings)
  SELECT coalesce(i.id, d.id) AS id, coalesce(i.form, d.form) AS form, coalesce(i.kind, d.kind) AS kind,
    coalesce(i.parent_id, d.parent_id) AS parent_id, d.revision::text AS revision,
    CASE
      WHEN i.id IS NULL THEN 'ghost'
      WHEN d.id IS NULL OR d.deleted_at IS NOT NULL OR NOT d.is_announced THEN 'missing'
      ELSE 'stale'
    END AS problem
  FROM incoming i JOIN flags f USING (id, form)
  FULL JOIN (SELECT * FROM index_document WHERE id = ANY ($2::text[])) d ON d.id = i.id AND d.form = i.form
  WHERE CASE
    WHEN i.id IS NULL THEN d.deleted_at IS NULL AND d.kind = $3
    ELSE d.id IS NULL OR d.deleted_at IS NOT NULL OR NOT d.is_announced
      OR ${contentOf('i')} IS DISTINCT FROM ${contentOf('d')}
      OR (f.is_latest, f.is_latest_draft, f.has_draft) IS DISTINCT FROM (d.is_latest, d.is_latest_draft, d.has_draft)
      OR ARRAY(SELECT bounds::box::text FROM unnest(i.boxes) AS bounds ORDER BY 1)
        IS DISTINCT FROM ARRAY(SELECT bounds::text FROM index_box b WHERE b.id = d.id AND b.form = d.form ORDER BY 1)
    END`;

interface DifferenceRow {
  id: string;
  form: EntityForm;
  kind: EntityKind;
  parent_id: string;
  revision: string | null;
  problem: IndexDifference['problem'];
}

/** The differences between the index and the expected forms of these ids. */
export async function compareIndex(
  pool: pg.Pool,
  kind: EntityKind,
  ids: readonly string[],
  entities: readonly IndexedEntity[],
): Promise<IndexDifference[]> {
  const { rows: incoming, terms, words } = await entityRows(entities);
  const { rows } = await pool.query<DifferenceRow>(COMPARE, [incoming, [...ids], kind, terms]);
  const differences = rows.map(({ parent_id: parentId, ...row }) => ({ ...row, parentId }));
  return [...differences, ...withoutWords(entities, differences, await missingWords(pool, words))];
}

/** Words that no fuzzy search finds. */
async function missingWords(pool: pg.Pool, words: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ word: string }>(
    'SELECT word FROM unnest($1::text[]) AS word WHERE NOT EXISTS (SELECT FROM index_word w WHERE w.word = word.word)',
    [words],
  );
  return new Set(rows.map(({ word }) => word));
}

/** Of forms without other differences. */
function withoutWords(
  entities: readonly IndexedEntity[],
  differences: readonly IndexDifference[],
  missing: ReadonlySet<string>,
): IndexDifference[] {
  if (missing.size === 0) return [];
  const differing = new Set(differences.map(({ id, form }) => `${form} ${id}`));
  return entities
    .filter(({ id, form }) => !differing.has(`${form} ${id}`))
    .filter(({ document }) => [...documentTerms(document).words].some((word) => missing.has(word)))
    .map(({ id, form, kind, parentId, revision }) => ({
      id,
      form,
      kind,
      parentId,
      revision,
      problem: 'stale',
    }));
}

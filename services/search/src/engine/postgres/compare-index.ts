import type pg from 'pg';
import type { EntityForm, EntityKind, IndexDifference, IndexedEntity } from '../search-engine.ts';
import { contentOf, entityRows, INCOMING } from './write-changes.ts';

/** Compares rows with those that would be written; the boxes in whatever order. */
const COMPARE = `
  WITH incoming AS (${INCOMING})
  SELECT coalesce(i.id, d.id) AS id, coalesce(i.form, d.form) AS form, coalesce(i.kind, d.kind) AS kind,
    coalesce(i.parent_id, d.parent_id) AS parent_id, d.revision::text AS revision,
    CASE
      WHEN i.id IS NULL THEN 'ghost'
      WHEN d.id IS NULL OR d.deleted_at IS NOT NULL OR NOT d.is_announced THEN 'missing'
      ELSE 'stale'
    END AS problem
  FROM incoming i
  FULL JOIN (SELECT * FROM index_document WHERE id = ANY ($2::text[])) d ON d.id = i.id AND d.form = i.form
  WHERE CASE
    WHEN i.id IS NULL THEN d.deleted_at IS NULL AND d.kind = $3
    ELSE d.id IS NULL OR d.deleted_at IS NOT NULL OR NOT d.is_announced
      OR ${contentOf('i')} IS DISTINCT FROM ${contentOf('d')}
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

/** What of these ids is otherwise in the index than it should be. */
export async function compareIndex(
  pool: pg.Pool,
  kind: EntityKind,
  ids: readonly string[],
  entities: readonly IndexedEntity[],
): Promise<IndexDifference[]> {
  const { rows } = await pool.query<DifferenceRow>(COMPARE, [entityRows(entities).rows, [...ids], kind]);
  return rows.map(({ parent_id: parentId, ...row }) => ({ ...row, parentId }));
}

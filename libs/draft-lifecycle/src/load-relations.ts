import type { Sql } from '@kr/database';
import type { EntityRef } from './entity.ts';
import { refKey } from './entity-documents.ts';

interface RelatedRow {
  id: string;
  of_draft: string[] | null;
  of_published: string[] | null;
}

export async function loadRelations(
  sql: Sql,
  refs: readonly EntityRef[],
  related: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await sql.$queryRawUnsafe<RelatedRow[]>(
    `select v.id, r.of_draft, r.of_published from unnest($1::text[]) as v (id) cross join lateral (${related}) r`,
    [...new Set(refs.map(({ id }) => id))],
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return new Map(
    refs.map((ref) => {
      const row = byId.get(ref.id);
      return [refKey(ref), (ref.form === 'draft' ? row?.of_draft : row?.of_published) ?? []];
    }),
  );
}

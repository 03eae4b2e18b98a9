import { refKey } from './entity-documents.ts';
import type { EntityKind } from './entity-kind.ts';

interface RelatedRow {
  id: string;
  of_draft: string[] | null;
  of_published: string[] | null;
}

/** `EntityKind.relations` by what `EntityKind.related` says of one version. */
export function relationsBy(related: string): EntityKind['relations'] {
  const select = `select v.id, r.of_draft, r.of_published from unnest($1::text[]) as v (id) cross join lateral (${related}) r`;
  return async (sql, refs) => {
    const rows = await sql.$queryRawUnsafe<RelatedRow[]>(select, [...new Set(refs.map(({ id }) => id))]);
    const byId = new Map(rows.map((row) => [row.id, row]));
    return new Map(
      refs.map((ref) => {
        const row = byId.get(ref.id);
        return [refKey(ref), (ref.form === 'draft' ? row?.of_draft : row?.of_published) ?? []];
      }),
    );
  };
}

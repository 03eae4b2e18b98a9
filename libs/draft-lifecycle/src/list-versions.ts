import type { ListVersionsRequest__Output, ListVersionsResponse } from '@kr/contracts';
import { accessStatus } from '@kr/metadata';
import type { CallContext } from '@kr/rpc';
import type { Entity } from './entity.ts';
import { entityDocuments } from './entity-documents.ts';
import { loadVersions } from './entity-store.ts';
import { draftFace, getEntity, type LifecycleContext } from './lifecycle-context.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import { may, permit } from './permission.ts';

/** More versions than this of one entity are not listed. */
const MAX_VERSIONS = 10_000;

/**
 * RPC ListVersions: the published versions that the caller may read, newest first.
 *
 * @throws ServiceError
 *   - `not_found`: no such entity
 *   - `unauthenticated`, `forbidden`: the caller may not read the one that was named
 *   - `unavailable`: a version is staged and the coordinator cannot be asked
 */
export function listVersions<Tx extends LifecycleSql>(context: LifecycleContext<Tx>) {
  return async (
    { id, size, page }: ListVersionsRequest__Output,
    { principal }: CallContext,
  ): Promise<ListVersionsResponse> => {
    const entity = await getEntity(context, id);
    const now = context.now();
    permit(principal, 'read', entity, entity.published ?? draftFace(entity), now);

    const all = await loadVersions(context.database, entity.parent.id, { limit: MAX_VERSIONS, offset: 0 });
    const readable = all.filter(
      (one) => one.published !== null && may(principal, 'read', one, one.published, now),
    );
    const offset = (Math.max(page, 1) - 1) * size;
    const shown = readable
      .slice(offset, offset + size)
      .map((one) => ({ entity: one, form: 'published' as const }));
    return {
      documents: await entityDocuments(context, shown, principal),
      total: readable.length,
      accessStatuses: statusCounts(readable, now),
    };
  };
}

function statusCounts(entities: readonly Entity[], now: Date): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { published } of entities) {
    if (published === null) continue;
    const { access, files } = published.document;
    const status = accessStatus(access, files.entries ?? 0, now);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

import type { ListVersionsRequest__Output, ListVersionsResponse } from '@kr/contracts';
import { accessStatus } from '@kr/metadata';
import type { CallContext } from '@kr/rpc';
import { entityDocuments } from './entity-documents.ts';
import { loadVersionHeads, type VersionHead } from './entity-store.ts';
import {
  draftFace,
  findSettled,
  getEntity,
  type LifecycleContext,
  publishedFace,
} from './lifecycle-context.ts';
import { may, permit } from './permission.ts';

/** More versions than this of one entity are not listed. */
const MAX_VERSIONS = 10_000;

/**
 * RPC ListVersions: the published versions that the caller may read, newest first.
 *
 * @throws ServiceError - `not_found`: no such entity - `gone`: the named one is removed - `unauthenticated`,
 * `forbidden`: the caller may not read the named one - `unavailable`: a version is staged and the coordinator
 * cannot be reached - `invalid` (`answer_too_large`): the page exceeds the limit of any page
 */
export function listVersions(context: LifecycleContext) {
  return async (
    { id, size, page }: ListVersionsRequest__Output,
    { principal }: CallContext,
  ): Promise<ListVersionsResponse> => {
    const entity = await getEntity(context, id);
    const now = context.now();
    const face = entity.published === null ? draftFace(entity) : publishedFace(entity);
    permit(principal, 'read', entity, face, now);

    const heads = await loadVersionHeads(context.database, entity.parent.id, MAX_VERSIONS);
    const readable = heads.filter(({ access }) =>
      may(principal, 'read', entity, { document: { access } }, now),
    );
    const offset = (Math.max(page, 1) - 1) * size;
    const ids = readable.slice(offset, offset + size).map((head) => head.id);
    const { entities } = await findSettled(context, ids);
    const shown = ids
      .flatMap((one) => entities.get(one) ?? [])
      .map((one) => ({ entity: one, form: 'published' as const }));
    return {
      documents: await entityDocuments(context, shown, principal),
      total: readable.length,
      accessStatuses: statusCounts(readable, now),
    };
  };
}

function statusCounts(heads: readonly VersionHead[], now: Date): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { access, fileCount } of heads) {
    const status = accessStatus(access, fileCount, now);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

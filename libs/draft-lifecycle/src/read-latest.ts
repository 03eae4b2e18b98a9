import type { ReadLatestRequest__Output, ReadLatestResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { entityDocument } from './entity-documents.ts';
import { loadLatest } from './entity-store.ts';
import { getEntity, type LifecycleContext, publishedFace } from './lifecycle-context.ts';
import { notRegistered } from './missing-entity.ts';
import { permit } from './permission.ts';

/**
 * RPC ReadLatest.
 *
 * @throws ServiceError - `not_found`: no such entity, or it was never published - `unauthenticated`,
 * `forbidden`: the caller may not read the latest version - `unavailable`: a version is staged and the
 * coordinator cannot be reached
 */
export function readLatest(context: LifecycleContext) {
  return async (
    { id }: ReadLatestRequest__Output,
    { principal }: CallContext,
  ): Promise<ReadLatestResponse> => {
    const named = await getEntity(context, id);
    publishedFace(named);
    const entity = await loadLatest(context.database, named.parent.id);
    if (entity === undefined) throw notRegistered();
    permit(principal, 'read', entity, publishedFace(entity), context.now());
    return { document: await entityDocument(context, { entity, form: 'published' }, principal) };
  };
}

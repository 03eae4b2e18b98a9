import type { DeleteDraftRequest__Output, DeleteDraftResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { LifecycleContext } from '../context/context.ts';
import type { DiscardedDraft } from '../model/kind.ts';
import { removeDraft } from '../store/drafts.ts';
import { entityEntry } from './audit.ts';
import { changeDraft, draftForChange } from './change-draft.ts';

/**
 * RPC DeleteDraft: a never published entity is removed completely.
 *
 * @throws ServiceError, in this order - `not_found`: no such entity, or it has no draft -
 * `unauthenticated`, `forbidden`: not allowed - `precondition_failed`: it is not at `if_revision` -
 * `conflict` (`draft_locked`): it is being published
 */
export function deleteDraft(context: LifecycleContext) {
  const { kind, store } = context;
  return async (
    { id, ifRevision }: DeleteDraftRequest__Output,
    { principal }: CallContext,
  ): Promise<DeleteDraftResponse> => {
    const change = { id, ifRevision, action: 'delete_draft', principal } as const;
    await draftForChange(context, change);
    const gone = await changeDraft(context, change, async (tx, entity): Promise<DiscardedDraft> => {
      const { parent, published, versionIndex } = entity;
      const isPublished = published !== null;
      const discarded = {
        id,
        parentId: parent.id,
        revision: entity.draft.revision + 1,
        isPublished,
        isParentGone: !isPublished && versionIndex === 1,
        packageIds: (await kind.hooks.draftDeleted?.(tx, { id, isPublished })) ?? [],
      };
      await removeDraft(tx, discarded);
      const metadata = { revision: discarded.revision, is_published: isPublished };
      const deleted = entityEntry(principal, 'draft.delete', entity, metadata);
      await store.appendChangeLog(tx, {
        events: [kind.events.draftDeleted(discarded)],
        entries: [{ ...deleted, ownerId: parent.ownerId }],
      });
      return discarded;
    });
    await context.afterDelete?.(gone, principal.requestId);
    return {};
  };
}

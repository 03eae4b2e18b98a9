import type { DeleteDraftRequest__Output, DeleteDraftResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { LifecycleContext } from '../context/context.ts';
import { removeDraft } from '../store/drafts.ts';
import { entityEntry } from './audit.ts';
import { changeDraft, draftForChange } from './change-draft.ts';

/**
 * RPC DeleteDraft: a never published entity is removed completely.
 *
 * @throws ServiceError, in this order - `not_found`: no such entity, or it has no draft -
 * `precondition_failed`: it is not at `if_revision` - `unauthenticated`, `forbidden`: not allowed -
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
    await changeDraft(context, change, async (tx, entity, draft) => {
      const gone = {
        id,
        parentId: entity.parent.id,
        revision: draft.revision + 1,
        isPublished: entity.published !== null,
        isParentGone: entity.published === null && entity.versionIndex === 1,
      };
      const packageIds = (await kind.hooks.draftDeleted?.(tx, gone)) ?? [];
      await removeDraft(tx, gone);
      const { isPublished, revision } = gone;
      const metadata = { revision, is_published: isPublished };
      const deleted = entityEntry(principal, 'draft.delete', entity, metadata);
      await store.tell(tx, {
        events: [kind.events.draftDeleted(gone, packageIds)],
        entries: [{ ...deleted, ownerId: entity.parent.ownerId }],
      });
    });
    return {};
  };
}

import type { UpdateDraftRequest__Output, UpdateDraftResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { changeDraft, draftForChange } from './change-draft.ts';
import { checkContent } from './check-content.ts';
import { entityDocument } from './entity-documents.ts';
import { lasting } from './issue-rules.ts';
import type { LifecycleContext } from './lifecycle-context.ts';
import { NO_FILES } from './lifecycle-deps.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import { requestBody } from './request-body.ts';

/**
 * RPC UpdateDraft: the body replaces the content.
 *
 * @throws ServiceError, in this order
 *   - `not_found`: no such entity, or it has no draft
 *   - `precondition_failed`: it is not at `if_revision`
 *   - `unauthenticated`, `forbidden`: the caller may not
 *   - `conflict` (`draft_locked`): it is being published
 *   - `invalid`: the body is no object, or says what not even a draft may say
 */
export function updateDraft<Tx extends LifecycleSql>(context: LifecycleContext<Tx>) {
  const { kind, store, doiPrefix } = context;
  return async (
    request: UpdateDraftRequest__Output,
    { principal }: CallContext,
  ): Promise<UpdateDraftResponse> => {
    const { id, ifRevision } = request;
    const change = { id, ifRevision, action: 'update_draft', principal } as const;
    await draftForChange(context, change);
    const body = requestBody(request.body);
    const counts = await context.describeBuckets([id]);
    const now = context.now();

    const { entity, issues } = await changeDraft(context, change, async (tx, entity, draft) => {
      const content = await checkContent(tx, body, {
        kind: kind.name,
        id,
        doiPrefix,
        now,
        counts: counts.get(id) ?? NO_FILES,
        registered: entity.published?.document.pids ?? {},
        before: draft,
      });
      const revision = await store.replaceDraft(tx, id, content, now);
      await store.appendEvents(tx, [kind.events.draftSaved({ id, parentId: entity.parent.id, revision })]);
      const { document } = content;
      const next = { ...draft, document, issues: lasting(content.issues), revision, updatedAt: now };
      return { entity: { ...entity, draft: next }, issues: content.issues };
    });
    return {
      document: await entityDocument(context, { entity, form: 'draft' }, principal, { counts, issues }),
    };
  };
}

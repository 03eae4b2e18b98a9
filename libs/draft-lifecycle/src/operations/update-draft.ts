import type { UpdateDraftRequest__Output, UpdateDraftResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { LifecycleContext } from '../context/context.ts';
import { draftContent, requestBody } from '../model/content.ts';
import { NO_FILES } from '../model/files.ts';
import { takenDoiIssues } from '../store/dois.ts';
import { type DraftChange, saveDraft } from './change-draft.ts';
import { draftCounts, entityDocument, type Precomputed } from './documents.ts';

/**
 * RPC UpdateDraft: the body replaces the content.
 *
 * @throws ServiceError, in this order - `not_found`: no such entity, or it has no draft -
 * `unauthenticated`, `forbidden`: not allowed - `precondition_failed`: it is not at `if_revision` -
 * `conflict` (`draft_locked`): it is being published - `invalid`: the body is no object, or has content that
 * not even a draft may have
 */
export function updateDraft(context: LifecycleContext) {
  const { kind, doiPrefix, vocabularies } = context;
  return async (
    { id, ifRevision, body }: UpdateDraftRequest__Output,
    { principal }: CallContext,
  ): Promise<UpdateDraftResponse> => {
    const change: DraftChange = { id, ifRevision, action: 'update_draft', principal };
    let precomputed: Precomputed = {};
    const entity = await saveDraft(context, change, async (sql, { published, draft }, now) => {
      const sent = requestBody(body);
      // A second run is under the lock of the draft, which must not wait for another service.
      const counts = precomputed.counts ?? (await draftCounts(context, [{ id, document: draft.document }]));
      const { document, issues: ofContent } = draftContent(sent, {
        kind: kind.name,
        id,
        doiPrefix,
        vocabularies,
        now,
        counts: counts.get(id) ?? NO_FILES,
        registered: published?.document.pids ?? {},
        before: draft,
      });
      const issues = [...ofContent, ...(await takenDoiIssues(sql, id, document.pids))];
      precomputed = { counts, issues };
      const { enabled } = document.files;
      const metadata = {
        revision: draft.revision + 1,
        ...(enabled !== draft.document.files.enabled && { files_enabled: enabled }),
      };
      return { document, issues, action: 'draft.update', metadata };
    });
    await context.afterUpdate?.(entity, principal.requestId);
    return { document: await entityDocument(context, { entity, form: 'draft' }, principal, precomputed) };
  };
}

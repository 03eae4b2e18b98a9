import type { DiscardPidRequest__Output, DiscardPidResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { changeDraft, draftForChange } from './change-draft.ts';
import { changePids } from './change-pids.ts';
import { entityDocument } from './entity-documents.ts';
import type { LifecycleContext } from './lifecycle-context.ts';
import { unknownId } from './missing-entity.ts';

/**
 * RPC DiscardPid: gives a reserved identifier back.
 *
 * @throws ServiceError
 *   - `not_found`: no such entity or draft, or it has no identifier of that scheme
 *   - `precondition_failed`: the draft is not at `if_revision`
 *   - `unauthenticated`, `forbidden`: the caller may not
 *   - `conflict` (`draft_locked`): it is being published
 *   - `invalid`: the identifier is registered
 */
export function discardPid(context: LifecycleContext) {
  return async (
    { id, scheme, ifRevision }: DiscardPidRequest__Output,
    { principal }: CallContext,
  ): Promise<DiscardPidResponse> => {
    const change = { id, ifRevision, action: 'manage_pids', principal } as const;
    await draftForChange(context, change);
    const entity = await changeDraft(context, change, async (tx, entity, draft) => {
      if (!Object.hasOwn(draft.document.pids, scheme)) throw unknownId();
      const { [scheme]: discarded, ...pids } = draft.document.pids;
      if (discarded === undefined) throw unknownId();
      if (entity.published?.document.pids[scheme]?.identifier === discarded.identifier) {
        throw new ServiceError('invalid', 'A validation error occurred.', {
          code: 'pid_registered',
          issues: [
            {
              field: '_schema',
              messages: ['Cannot discard a reserved or registered persistent identifier.'],
            },
          ],
        });
      }
      const { identifier } = discarded;
      return changePids(context, tx, entity, draft, {
        action: 'pid.discard',
        principal,
        scheme,
        identifier,
        pids,
      });
    });
    return { document: await entityDocument(context, { entity, form: 'draft' }, principal) };
  };
}

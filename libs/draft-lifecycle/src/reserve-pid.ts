import type { ReservePidRequest__Output, ReservePidResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { changeDraft, draftForChange } from './change-draft.ts';
import { changePids } from './change-pids.ts';
import { entityDocument } from './entity-documents.ts';
import type { LifecycleContext } from './lifecycle-context.ts';
import { notFound } from './missing-entity.ts';
import { localDoi, oaiPid } from './pids-rules.ts';

/**
 * RPC ReservePid: gives a draft the identifier it will be registered with.
 *
 * @throws ServiceError
 *   - `not_found`: no such entity, draft or scheme
 *   - `precondition_failed`: the draft is not at `if_revision`
 *   - `unauthenticated`, `forbidden`: the caller may not
 *   - `conflict` (`draft_locked`): it is being published
 *   - `invalid`: it has one of that scheme
 */
export function reservePid(context: LifecycleContext) {
  const { doiPrefix, oaiPrefix } = context;
  return async (
    { id, scheme, ifRevision }: ReservePidRequest__Output,
    { principal }: CallContext,
  ): Promise<ReservePidResponse> => {
    const change = { id, ifRevision, action: 'manage_pids', principal } as const;
    await draftForChange(context, change);
    const pid = new Map([
      ['doi', localDoi(id, doiPrefix)],
      ['oai', oaiPid(id, oaiPrefix)],
    ]).get(scheme);
    if (pid === undefined) throw notFound();

    const entity = await changeDraft(context, change, async (tx, entity, draft) => {
      const { pids } = draft.document;
      if (pids[scheme] !== undefined) {
        throw new ServiceError('invalid', 'A validation error occurred.', {
          code: 'pid_exists',
          issues: [{ field: `pids.${scheme}`, messages: [`A PID already exists for type ${scheme}`] }],
        });
      }
      return changePids(context, tx, entity, draft, {
        action: 'pid.reserve',
        principal,
        scheme,
        identifier: pid.identifier,
        pids: { ...pids, [scheme]: pid },
      });
    });
    return { document: await entityDocument(context, { entity, form: 'draft' }, principal) };
  };
}

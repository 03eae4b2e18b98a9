import type {
  DiscardPidRequest__Output,
  DiscardPidResponse,
  ReservePidRequest__Output,
  ReservePidResponse,
} from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { type LifecycleContext, notFound, unknownId } from '../context/context.ts';
import type { DraftForm } from '../model/entity.ts';
import { issuesOf } from '../model/issues.ts';
import { localDoi, oaiPid, type StoredPids } from '../model/pids.ts';
import { type NewContent, saveDraft } from './change-draft.ts';
import { entityDocument } from './documents.ts';

/**
 * RPC ReservePid: reserves the identifier with which a draft will be registered.
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
    const entity = await saveDraft(context, change, async (_sql, { draft }) => {
      const pid = new Map([
        ['doi', localDoi(id, doiPrefix)],
        ['oai', oaiPid(id, oaiPrefix)],
      ]).get(scheme);
      if (pid === undefined) throw notFound();
      const { pids } = draft.document;
      if (pids[scheme] !== undefined) {
        throw new ServiceError('invalid', 'A validation error occurred.', {
          code: 'pid_exists',
          issues: [{ field: `pids.${scheme}`, messages: [`A PID already exists for type ${scheme}`] }],
        });
      }
      const metadata = { scheme, identifier: pid.identifier };
      return { ...withPids(draft, { ...pids, [scheme]: pid }), action: 'pid.reserve', metadata };
    });
    return { document: await entityDocument(context, { entity, form: 'draft' }, principal) };
  };
}

/**
 * RPC DiscardPid: releases a reserved identifier.
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
    const entity = await saveDraft(context, change, async (_sql, { draft, published }) => {
      if (!Object.hasOwn(draft.document.pids, scheme)) throw unknownId();
      const { [scheme]: discarded, ...pids } = draft.document.pids;
      if (discarded === undefined) throw unknownId();
      if (published?.document.pids[scheme]?.identifier === discarded.identifier) {
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
      const metadata = { scheme, identifier: discarded.identifier };
      return { ...withPids(draft, pids), action: 'pid.discard', metadata };
    });
    return { document: await entityDocument(context, { entity, form: 'draft' }, principal) };
  };
}

/** The content of a draft with other identifiers; problems of the former ones are resolved. */
function withPids(
  { document, issues }: DraftForm,
  pids: StoredPids,
): Pick<NewContent, 'document' | 'issues'> {
  const resolved = new Set(issuesOf(issues, 'pids'));
  return { document: { ...document, pids }, issues: issues.filter((issue) => !resolved.has(issue)) };
}

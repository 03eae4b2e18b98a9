import type { AuditAction } from '@kr/audit-trail';
import type { Principal } from '@kr/caller';
import type {
  DiscardPidRequest__Output,
  DiscardPidResponse,
  ReservePidRequest__Output,
  ReservePidResponse,
} from '@kr/contracts';
import type { Sql } from '@kr/database';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { type LifecycleContext, type LifecycleDeps, notFound, unknownId } from '../context/context.ts';
import type { DraftFace, Entity } from '../model/entity.ts';
import { issuesOf } from '../model/issues.ts';
import { localDoi, oaiPid, type StoredPids } from '../model/pids.ts';
import { replaceDraft } from '../store/drafts.ts';
import { entityEntry } from './audit.ts';
import { changeDraft, draftForChange } from './change-draft.ts';
import { entityDocument } from './documents.ts';

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

/** The new identifiers and their audit entry. */
export interface PidsChange {
  action: Extract<AuditAction, `pid.${string}`>;
  principal: Principal;
  scheme: string;
  /** The one that is reserved or discarded. */
  identifier: string;
  /** The complete new identifiers of the draft. */
  pids: StoredPids;
}

/** Gives a draft that is held other identifiers; what was wrong with the former ones is settled with it. */
async function changePids(
  { kind, store, now }: Pick<LifecycleDeps, 'kind' | 'store' | 'now'>,
  tx: Sql,
  entity: Entity,
  draft: DraftFace,
  { action, principal, scheme, identifier, pids }: PidsChange,
): Promise<Entity> {
  const settled = new Set(issuesOf(draft.issues, 'pids'));
  const issues = draft.issues.filter((issue) => !settled.has(issue));
  const document = { ...draft.document, pids };
  const updatedAt = now();
  const revision = await replaceDraft(tx, entity.id, { document, issues }, updatedAt);
  await store.tell(tx, {
    events: [kind.events.draftSaved({ id: entity.id, parentId: entity.parent.id, revision })],
    entries: [entityEntry(principal, action, entity, { scheme, identifier })],
  });
  return { ...entity, draft: { ...draft, document, issues, revision, updatedAt } };
}

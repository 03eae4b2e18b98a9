import { type AuditEntry, actorOf } from '@kr/audit-trail';
import { servicePrincipal } from '@kr/caller';
import type { ApplyDecisionToRecordsRequest__Output, ApplyDecisionToRecordsResponse } from '@kr/contracts';
import type { Sql } from '@kr/database';
import { failpoint } from '@kr/failpoint';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import {
  type Decision,
  type LifecycleContext,
  type LifecycleDeps,
  type PublicationResolver,
  transact,
} from '../context/context.ts';
import { appendChangedEvents } from '../events/revisions.ts';
import { assertService } from '../model/access.ts';
import type { Publication } from '../model/kind.ts';
import { onDecision } from '../model/publication.ts';
import type { StoredParticipation } from '../store/staging.ts';

/**
 * Applies a decision of the coordinator in one transaction. Idempotent; any caller that knows the decision
 * may call it.
 *
 * @throws ServiceError `internal` when this service never agreed to the committed publication, or has applied
 * the aborted one
 */
async function applyDecision(
  deps: LifecycleDeps,
  publicationId: string,
  isCommitted: boolean,
): Promise<void> {
  await failpoint('records.apply.before');
  await transact(deps, async (tx) => {
    const participation = await deps.store.lockPublicationAndEntities(tx, publicationId);
    switch (onDecision(participation, isCommitted)) {
      case 'apply':
        if (participation !== null) await reveal(deps, tx, participation);
        break;
      case 'undo':
        // A decision that arrives before its prepare leaves a row that rejects that prepare.
        await deps.store.dropStaged(tx, publicationId, deps.now());
        break;
      case 'done':
        return;
      case 'contradiction':
        deps.logger.fatal({ publicationId, isCommitted, state: participation?.state }, 'impossible decision');
        throw new ServiceError('internal', 'Internal server error.');
    }
    await failpoint('records.apply.inside');
  });
  await failpoint('records.apply.after');
}

async function reveal(
  { kind, store, now }: LifecycleDeps,
  tx: Sql,
  participation: StoredParticipation,
): Promise<void> {
  const { publicationId, packageId } = participation;
  const publication: Publication = { id: publicationId, packageId, recordIds: [] };
  const published = await store.revealStaged(tx, publicationId, now());
  const actor = participation.actor ?? actorOf(servicePrincipal('packages', publicationId));
  const metadata = { publication: publicationId, ...(packageId !== '' && { package: packageId }) };
  await store.appendChangeLog(tx, {
    events: published.map((entity) => kind.events.published(entity, publication)),
    entries: published.map(({ id, parentId, revision }): AuditEntry => {
      const action = `${kind.name}.publish` as const;
      return { action, entityId: id, parentId, actor, metadata: { ...metadata, revision } };
    }),
  });
  const former = published.flatMap(({ formerLatestId }) => formerLatestId ?? []);
  if (former.length > 0) await appendChangedEvents({ kind }, tx, former);
  await kind.hooks.published?.(tx, published, publication);
}

/**
 * RPC ApplyDecisionToRecords: applies or drops the staged forms. Idempotent.
 *
 * @throws ServiceError - `forbidden`: the caller is no service - `internal`: this service never agreed to the
 * committed publication, or has applied the aborted one
 */
export function applyDecisionToRecords(context: LifecycleContext) {
  return async (
    { publicationId, isCommitted }: ApplyDecisionToRecordsRequest__Output,
    { principal }: CallContext,
  ): Promise<ApplyDecisionToRecordsResponse> => {
    assertService(principal);
    await applyDecision(context, publicationId, isCommitted);
    return {};
  };
}

type FinalDecision = Exclude<Decision, 'undecided'>;

const MAX_DECISIONS = 10_000;

export function createPublicationResolver(deps: LifecycleDeps): PublicationResolver {
  const decisions = new Map<string, FinalDecision>();

  // Each reader sends a separate query: a response in flight may be older than the state that the reader read.
  async function readDecisions(ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    try {
      for (const [id, decision] of await deps.resolvePublications(ids)) {
        if (decision !== 'undecided') remember(decisions, id, decision);
      }
      return [];
    } catch (error) {
      deps.logger.warn({ err: error, publications: ids.length }, 'the coordinator cannot be reached');
      return ids;
    }
  }

  return {
    async resolve(publicationIds) {
      const unread = await readDecisions(publicationIds.filter((id) => !decisions.has(id)));
      const unknown = new Map(unread.map((id) => [id, unresolved()]));
      const decided = publicationIds.flatMap((id) => entry(decisions, id));
      let isChanged = false;
      for (const [id, decision] of decided) {
        try {
          await applyDecision(deps, id, decision === 'committed');
          isChanged = true;
        } catch (error) {
          // A decision is not visible before it is stored, and the others need not wait for it.
          deps.logger.error({ err: error, publicationId: id }, 'a decision could not be applied');
          unknown.set(id, ServiceError.from(error));
        }
      }
      return { isChanged, unknown };
    },
  };
}

/** Whether it is published is unknown, so no answer, including the old version, would be correct. */
function unresolved(): ServiceError {
  return new ServiceError('unavailable', 'A publication is being decided.', { retryAfterMs: 1_000 });
}

function remember(decisions: Map<string, FinalDecision>, id: string, decision: FinalDecision): void {
  decisions.set(id, decision);
  const [oldest] = decisions.keys();
  if (decisions.size > MAX_DECISIONS && oldest !== undefined) decisions.delete(oldest);
}

function entry(decisions: ReadonlyMap<string, FinalDecision>, id: string): [string, FinalDecision][] {
  const decision = decisions.get(id);
  return decision === undefined ? [] : [[id, decision]];
}

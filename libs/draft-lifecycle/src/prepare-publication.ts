import { actorOf, fromActorMessage } from '@kr/audit-trail';
import type { Actor } from '@kr/caller';
import type { PreparePublicationRequest__Output, PreparePublicationResponse } from '@kr/contracts';
import { failpoint } from '@kr/failpoint';
import type { CallContext } from '@kr/rpc';
import { issueMessages } from './issue-rules.ts';
import { assertRevision, type LifecycleContext } from './lifecycle-context.ts';
import type { FileCounts } from './lifecycle-deps.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import { onPrepare } from './participant-rules.ts';
import type { Participant } from './participant-store.ts';
import { assertService } from './permission.ts';
import { planPublication } from './publication-rules.ts';
import { issuesOfPlan, stagedForm } from './publishable.ts';

/** The longest vote, in milliseconds. */
const VOTE_MS = 10_000;

/**
 * RPC PreparePublication: votes once for all drafts. Yes locks and stages them all, no changes nothing; every problem
 * of every draft is named. The number of statements does not depend on how many drafts there are.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is no service
 *   - `precondition_failed`: a draft is not at `if_revision`; nothing was written, so this is no vote
 *   - `unavailable`: the drafts could not be locked within 2 s
 */
export function preparePublication<Tx extends LifecycleSql>(context: LifecycleContext<Tx>) {
  return async (
    request: PreparePublicationRequest__Output,
    { principal }: CallContext,
  ): Promise<PreparePublicationResponse> => {
    assertService(principal);
    const actor = request.actor === null ? actorOf(principal) : fromActorMessage(request.actor);
    const vote = await voteInTransaction(context, request, actor);
    if (!('blockedBy' in vote)) return answer(vote);
    // The other publication may be decided and only its news be late: then this one need not fail.
    const { isChanged } = await context.publications.settle([vote.blockedBy]);
    const second = isChanged ? await voteInTransaction(context, request, actor) : vote;
    return 'blockedBy' in second ? { isPrepared: false, blockedBy: second.blockedBy } : answer(second);
  };
}

/** A vote is no news, so there is nothing to wake the relay for. */
function voteInTransaction<Tx extends LifecycleSql>(
  context: LifecycleContext<Tx>,
  request: PreparePublicationRequest__Output,
  actor: Actor,
): Promise<Participant | { blockedBy: string }> {
  return context.database.$transaction((tx) => voteOn(context, tx, request, actor), { timeout: VOTE_MS });
}

async function voteOn<Tx extends LifecycleSql>(
  context: LifecycleContext<Tx>,
  tx: Tx,
  request: PreparePublicationRequest__Output,
  actor: Actor,
): Promise<Participant | { blockedBy: string }> {
  const { store } = context;
  const { publicationId, epoch, packageId, packageParentId, ids } = request;
  const { former, entities } = await store.lockForVote(tx, publicationId, ids);
  if (former !== null && onPrepare(former, epoch) !== 'prepare') return former;

  const plan = planPublication(request, entities);
  if (plan.blockedBy !== null) return { blockedBy: plan.blockedBy };
  for (const { draft } of plan.drafts) assertRevision(request.ifRevision, draft);
  const counts = countsOf(request);
  const issues = await issuesOfPlan(context, tx, plan, counts);

  const now = context.now();
  const isPrepared = issues.length === 0;
  const vote: Participant = {
    publicationId,
    state: isPrepared ? 'prepared' : 'refused',
    epoch,
    packageId,
    packageParentId,
    stagedIds: isPrepared ? plan.drafts.map(({ id }) => id) : [],
    unchangedIds: isPrepared ? plan.unchangedIds : [],
    issues,
    actor,
  };
  const forms = isPrepared ? plan.drafts.map((draft) => stagedForm(context, draft, counts)) : [];
  await store.writeVote(tx, vote, forms, now);
  await failpoint('records.prepare.inside');
  return vote;
}

function answer({ state, issues, stagedIds, unchangedIds }: Participant): PreparePublicationResponse {
  return {
    isPrepared: state === 'prepared' || state === 'applied',
    issues: issueMessages(issues),
    stagedIds: [...stagedIds],
    unchangedIds: [...unchangedIds],
  };
}

function countsOf({ manifests }: PreparePublicationRequest__Output): Map<string, FileCounts> {
  return new Map(
    manifests.map(({ entityId, entries, pending, totalBytes, keys }) => [
      entityId,
      { entries, pending, totalBytes: Number(totalBytes), keys },
    ]),
  );
}

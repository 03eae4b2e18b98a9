import { actorOf, fromActorMessage } from '@kr/audit-trail';
import type { Actor } from '@kr/caller';
import type { PreparePublicationRequest__Output, PreparePublicationResponse } from '@kr/contracts';
import type { Sql } from '@kr/database';
import { failpoint } from '@kr/failpoint';
import type { CallContext } from '@kr/rpc';
import type { Issue } from '@kr/service-error';
import { assertRevision, type LifecycleContext } from '../context/context.ts';
import { assertService } from '../model/access.ts';
import { type FileCounts, fileCounts } from '../model/files.ts';
import { issueMessages } from '../model/issues.ts';
import { onPrepare, type PublicationPlan, planPublication } from '../model/publication.ts';
import { lockDois } from '../store/dois.ts';
import type { StoredParticipation } from '../store/staging.ts';
import { externalDois, stagedForm, validatePlan } from './validate.ts';

/** Timeout of the transaction of a vote, in milliseconds. */
const VOTE_MS = 10_000;

interface Vote {
  readonly participation: StoredParticipation;
  readonly isAccepted: boolean;
  readonly remainingIds: readonly string[];
  readonly bytes: number;
}

interface Blocked {
  readonly blockedBy: string;
}

/**
 * RPC PreparePublication: votes once for all drafts or, in parts, for as many as fit into `partBytes` of JSON
 * and at least one. Yes locks and stages them all, no changes nothing; every problem of every draft is
 * returned. The number of statements does not depend on the number of drafts.
 *
 * @throws ServiceError - `forbidden`: the caller is no service - `precondition_failed`: a draft is not at
 * `if_revision`; nothing was written, so this is no vote - `unavailable`: the drafts could not be locked
 * within 2 s
 */
export function preparePublication(context: LifecycleContext, partBytes: number) {
  return async (
    request: PreparePublicationRequest__Output,
    { principal }: CallContext,
  ): Promise<PreparePublicationResponse> => {
    assertService(principal);
    const actor = request.actor === null ? actorOf(principal) : fromActorMessage(request.actor);
    const maxBytes = request.inParts ? partBytes : null;
    // A vote writes no events, so the relay need not wake.
    const vote = () =>
      context.database.$transaction((tx) => voteOn(context, tx, request, maxBytes, actor), {
        timeout: VOTE_MS,
      });
    const first = await vote();
    if (!('blockedBy' in first)) return answer(first);
    // The other publication may be decided already, and its decision not applied here yet.
    const { isChanged } = await context.publications.resolve([first.blockedBy]);
    const second = isChanged ? await vote() : first;
    return 'blockedBy' in second ? { isPrepared: false, blockedBy: second.blockedBy } : answer(second);
  };
}

async function voteOn(
  context: LifecycleContext,
  tx: Sql,
  request: PreparePublicationRequest__Output,
  maxBytes: number | null,
  actor: Actor,
): Promise<Vote | Blocked> {
  const { store } = context;
  const { former, candidates, remainingIds, bytes } = await store.lockForVote(tx, request, maxBytes);
  const ids = request.ids.slice(0, request.ids.length - remainingIds.length);
  const reaction = onPrepare(former, request.epoch, isAgreed(former, ids));
  if (former !== null && reaction !== 'prepare') {
    // A refusal applies to all drafts.
    return {
      participation: former,
      isAccepted: reaction === 'yes',
      remainingIds: reaction === 'yes' ? remainingIds : [],
      bytes,
    };
  }

  const plan = planPublication({ ...request, ids }, candidates);
  if (plan.blockedBy !== null) return { blockedBy: plan.blockedBy };
  for (const { draft } of plan.drafts) assertRevision(request.ifRevision, draft);
  const counts = countsOf(request);
  await lockDois(tx, externalDois(plan.drafts));
  const issues = await validatePlan(context, tx, plan, counts);

  const isAccepted = issues.length === 0;
  const participation = participationOf(request, former, isAccepted ? plan : NOTHING, issues, actor);
  // Agreed parts stay agreed until the decision, regardless of problems in the rest.
  if (isAccepted || former?.state !== 'prepared') {
    const forms = isAccepted ? plan.drafts.map((draft) => stagedForm(context, draft, counts)) : [];
    await store.writeVote(tx, participation, forms, context.now());
  }
  await failpoint('records.prepare.inside');
  return { participation, isAccepted, remainingIds, bytes };
}

const NOTHING: Pick<PublicationPlan, 'drafts' | 'unchangedIds'> = { drafts: [], unchangedIds: [] };

function participationOf(
  { publicationId, epoch, packageId, packageParentId }: PreparePublicationRequest__Output,
  former: StoredParticipation | null,
  { drafts, unchangedIds }: typeof NOTHING,
  issues: readonly Issue[],
  actor: Actor,
): StoredParticipation {
  return {
    publicationId,
    state: issues.length === 0 ? 'prepared' : 'refused',
    epoch,
    packageId,
    packageParentId,
    stagedIds: union(
      former?.stagedIds,
      drafts.map(({ id }) => id),
    ),
    unchangedIds: union(former?.unchangedIds, unchangedIds),
    issues,
    actor,
  };
}

function isAgreed(former: StoredParticipation | null, ids: readonly string[]): boolean {
  if (former === null) return false;
  const agreed = new Set([...former.stagedIds, ...former.unchangedIds]);
  return ids.every((id) => agreed.has(id));
}

function union(before: readonly string[] = [], more: readonly string[]): readonly string[] {
  return [...new Set([...before, ...more])];
}

function answer({ participation, isAccepted, remainingIds, bytes }: Vote): PreparePublicationResponse {
  return {
    isPrepared: isAccepted,
    issues: issueMessages(isAccepted ? [] : participation.issues),
    stagedIds: [...participation.stagedIds],
    unchangedIds: [...participation.unchangedIds],
    remainingIds: [...remainingIds],
    bytes: String(bytes),
  };
}

function countsOf({ manifests }: PreparePublicationRequest__Output): Map<string, FileCounts> {
  return new Map(manifests.map((manifest) => [manifest.entityId, fileCounts(manifest)]));
}

import { actorOf } from '@kr/audit-trail';
import type { Principal } from '@kr/caller';
import type { Definitions, PublishRequest__Output, PublishResponse } from '@kr/contracts';
import type { Sql } from '@kr/database';
import { notFound } from '@kr/draft-lifecycle';
import { failpoint } from '@kr/failpoint';
import type { CallContext, Handlers } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { BeginResult, PublishOptions } from './begin-publication.ts';
import type { Coordinator } from './coordinator.ts';
import type { PackageSnapshot } from './package-version.ts';
import type { Publication, Refusal } from './publication.ts';
import { OUT_OF_TIME, type PublishResult } from './publish-saga.ts';

export interface PublishDeps {
  readonly coordinator: Coordinator;
  /**
   * Authorises the caller, or throws. Without a draft it returns the `not_found` error, because the caller may be repeating
   * a successful publish.
   */
  checkPublishAccess: Readonly<
    Record<Publication['subject'], (id: string, principal: Principal) => Promise<PublishAccess>>
  >;
  begin: Readonly<
    Record<
      Publication['subject'],
      (id: string, options: PublishOptions, snapshot?: PackageSnapshot) => Promise<BeginResult>
    >
  >;
  findOwnCommitted(id: string, requestedBy: string): Promise<string | undefined>;
  onBegun(publication: Publication): void;
}

export interface PublishAccess {
  readonly noDraftError?: ServiceError;
  /** The version that was read, if it is stored here. */
  readonly snapshot?: PackageSnapshot | undefined;
  /** Parents whose links the caller may use; required only for callers with links. */
  readonly parentIds?: readonly string[];
}

/**
 * RPC Publish: a package with its resource drafts, or a resource alone; all or nothing. Answers at the commit
 * point; for a package that also contains resources published before, when these name it as well, or after 2 s.
 *
 * @throws ServiceError - `not_found`: no such entity, or it has no draft and the caller has not just
 * published it - `forbidden`, `unauthenticated`: the caller may not publish it - `precondition_failed`: the
 * draft is not at `if_revision` - `not_publishable`: every problem of the package and of every resource;
 * those of a resource name it - `conflict` (`draft_locked`): another publication has locked one of the drafts
 * - `unavailable`: not decided, or aborted because a participant could not be reached; a retry returns the
 * outcome
 */
export function publish(deps: PublishDeps) {
  return async (
    { subject, id, ifRevision }: PublishRequest__Output,
    call: CallContext,
  ): Promise<PublishResponse> => {
    const kind = subjectOf(subject);
    const requestedBy = requesterId(call.principal);
    const { noDraftError, snapshot, parentIds } = await deps.checkPublishAccess[kind](id, call.principal);
    if (noDraftError !== undefined) return replayAnswer(deps, id, requestedBy, noDraftError);
    const options = {
      requestedBy,
      actor: actorOf(call.principal, parentIds),
      ifRevision: Number(ifRevision),
    };
    await failpoint('publish.begin.before');
    const result = await deps.begin[kind](id, options, snapshot);
    await failpoint('publish.begin.after');
    if (result.kind === 'absent') return replayAnswer(deps, id, requestedBy, notFound());

    const { publicationId, answer } =
      result.kind === 'begun'
        ? {
            publicationId: result.publication.id,
            answer: await runToDecision(deps, result.publication, call.deadline),
          }
        : {
            publicationId: result.publicationId,
            answer: await deps.coordinator.waitForResult(result.publicationId, call.deadline),
          };
    if (answer.outcome === 'committed') return { publicationId };
    if (isGone(kind, answer)) {
      const since = (await deps.checkPublishAccess[kind](id, call.principal)).noDraftError;
      if (since !== undefined) return replayAnswer(deps, id, requestedBy, since);
    }
    throw errorOf(answer.outcome === 'refused' ? answer.refusal : OUT_OF_TIME);
  };
}

async function runToDecision(
  deps: PublishDeps,
  publication: Publication,
  until: Date,
): Promise<PublishResult> {
  deps.onBegun(publication);
  const answer = await deps.coordinator.run(publication).answer;
  const isDecided = answer.outcome === 'committed' || answer.outcome === 'refused';
  return isDecided ? answer : deps.coordinator.waitForResult(publication.id, until);
}

/** Whether the draft of a resource was deleted after the authorisation, perhaps by a concurrent publication. */
function isGone(kind: Publication['subject'], answer: PublishResult): boolean {
  return (
    kind === 'record' &&
    answer.outcome === 'refused' &&
    answer.refusal.issues.some(({ field }) => field === 'id')
  );
}

async function replayAnswer(
  deps: PublishDeps,
  id: string,
  requestedBy: string,
  noDraftError: ServiceError,
): Promise<PublishResponse> {
  const publicationId = await deps.findOwnCommitted(id, requestedBy);
  if (publicationId === undefined) throw noDraftError;
  return { publicationId };
}

/** @throws ServiceError `invalid` without a subject */
export function subjectOf(subject: PublishRequest__Output['subject']): Publication['subject'] {
  if (subject === 'SUBJECT_PACKAGE') return 'package';
  if (subject === 'SUBJECT_RECORD') return 'record';
  throw new ServiceError('invalid', 'Nothing to publish is named.');
}

/** The caller's identity, to distinguish a repeat from a stranger's request. */
function requesterId({ userId, service, grants }: Principal): string {
  if (userId !== null) return `user:${userId}`;
  if (service !== null) return `service:${service}`;
  return `links:${grants
    .map(({ linkId }) => linkId)
    .sort()
    .join(',')}`;
}

function errorOf({ kind, message, ...options }: Refusal): ServiceError {
  return new ServiceError(kind, message, options);
}

type Publish = Handlers<Definitions['publications']>['Publish'];
type ReadEntities = Handlers<Definitions['lifecycle']>['ReadEntities'];

/** RPC Publish with the published package in its response, which saves its caller a request. */
export function publishAndRead(publish: Publish, readEntities: ReadEntities): Publish {
  return async (request, call) => {
    const answer = await publish(request, call);
    if (subjectOf(request.subject) !== 'package') return answer;
    const ref = { id: request.id, form: 'FORM_PUBLISHED' } as const;
    const { results } = await readEntities({ refs: [ref] }, call);
    return { ...answer, published: results?.[0] ?? null };
  };
}

/**
 * The publication of a retrying caller: the last committed one of an entity without a draft, if
 * that caller requested it. Its response was lost, not its work.
 */
export async function findOwnCommitted(
  sql: Sql,
  entityId: string,
  requestedBy: string,
): Promise<string | undefined> {
  const [last] = await sql.$queryRawUnsafe<{ id: string; requestedBy: string }[]>(
    `select id, requested_by as "requestedBy" from publication
     where entity_id = $1 and state in ('COMMITTED', 'DONE') order by created_at desc limit 1`,
    entityId,
  );
  return last?.requestedBy === requestedBy ? last.id : undefined;
}

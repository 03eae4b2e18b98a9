import { toActorMessage } from '@kr/audit-trail';
import { servicePrincipal } from '@kr/caller';
import type { definitions, PreparePublicationResponse__Output } from '@kr/contracts';
import { around } from '@kr/failpoint';
import type { Client } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { type ParticipantName, type Publication, sealedIds, showsRelated } from './publication.ts';
import type { ParticipantCalls } from './publish-ports.ts';

export interface ParticipantClients {
  /** Restricts drafts of a restricted package that are not restricted yet. */
  restrictManagedDrafts(packageId: string, requestId: string, timeoutMs: number): Promise<void>;
  readonly files: Pick<Client<typeof definitions.files>, 'sealBuckets' | 'applyDecisionToBuckets'>;
  readonly records: Pick<Client<typeof definitions.records>, 'preparePublication' | 'applyDecisionToRecords'>;
}

/** Milliseconds that an answer waits for the notification of the records service, which is repeated later. */
const BEFORE_ANSWER_MS = 2_000;

/**
 * The files and records services: one call each for any number of entities; large resources are prepared in several. Timeouts
 * are at most half the lease, so that a participant that does not answer cannot cost the owner its lease.
 */
export function participants(
  { restrictManagedDrafts, files, records }: ParticipantClients,
  { leaseMs, rpcDeadlineMs }: { readonly leaseMs: number; readonly rpcDeadlineMs: number },
): ParticipantCalls {
  const timeoutMs = Math.min(rpcDeadlineMs, leaseMs / 2);
  const decisionOf = ({ id, state }: Publication) => {
    return { publicationId: id, isCommitted: state === 'COMMITTED' || state === 'DONE' };
  };
  const notify: Record<ParticipantName, (publication: Publication) => Promise<void>> = {
    files: around('publish.notify-files', async (publication) => {
      const request = { ...decisionOf(publication), publishedIds: [...publication.publishedIds] };
      await files.applyDecisionToBuckets(request, principalOf(publication), { timeoutMs });
    }),
    records: around('publish.notify-records', async (publication) => {
      await records.applyDecisionToRecords(decisionOf(publication), principalOf(publication), {
        timeoutMs: showsRelated(publication) ? Math.min(BEFORE_ANSWER_MS, timeoutMs) : timeoutMs,
      });
    }),
  };
  return {
    seal: around('publish.seal', async (publication) => {
      const { id, epoch } = publication;
      const reply = await files.sealBuckets(
        { publicationId: id, epoch, entityIds: [...sealedIds(publication)] },
        principalOf(publication),
        { timeoutMs },
      );
      if (!reply.isSealed) return { outcome: 'blocked' };
      return { outcome: 'sealed', manifests: reply.buckets };
    }),

    prepare: around('publish.prepare', async (publication, ids, manifests) => {
      const { id, epoch, subject, entityId, packageParentId, resourceIds, actor } = publication;
      const requested = new Set(ids);
      // Once for all parts: the draft of the package is locked, so its access and resources no longer change.
      if (subject === 'package' && ids.length === resourceIds.length)
        await restrictManagedDrafts(entityId, id, timeoutMs);
      const reply = await records.preparePublication(
        {
          publicationId: id,
          epoch,
          packageId: subject === 'package' ? entityId : '',
          packageParentId: packageParentId ?? '',
          ids: [...ids],
          ifRevision: publication.ifRevision ?? 0,
          actor: actor === null ? null : toActorMessage(actor),
          manifests: manifests.filter((manifest) => requested.has(manifest.entityId)),
          inParts: resourceIds.length > 1,
        },
        principalOf(publication),
        { timeoutMs },
      );
      const { remainingIds } = reply;
      const bytes = Number(reply.bytes);
      if (reply.isPrepared) {
        assertAgreed(publication, ids, reply);
        return { outcome: 'prepared', stagedIds: reply.stagedIds, remainingIds, bytes };
      }
      if (reply.blockedBy !== '') return { outcome: 'blocked' };
      const issues = reply.issues.map(({ field, messages, record }) => {
        return record === '' ? { field, messages } : { field, messages, record };
      });
      return { outcome: 'refused', issues, remainingIds, bytes };
    }),

    notify: (participant, publication) => notify[participant](publication),
  };
}

/**
 * An agreement to an earlier request is no vote about the ids of this one.
 *
 * @throws ServiceError `unavailable`: another replica may answer the request itself
 */
function assertAgreed(
  { resourceIds }: Publication,
  ids: readonly string[],
  { stagedIds, unchangedIds, remainingIds }: PreparePublicationResponse__Output,
): void {
  if (ids.length === resourceIds.length) return;
  const covered = new Set([...stagedIds, ...unchangedIds, ...remainingIds]);
  if (ids.every((id) => covered.has(id))) return;
  throw new ServiceError('unavailable', 'The service is temporarily unavailable.', { retryAfterMs: 1_000 });
}

/** Log lines of all services have the publication's id as their request id. */
function principalOf({ id }: Publication) {
  return servicePrincipal('packages', id);
}

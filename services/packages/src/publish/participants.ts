import { toActorMessage } from '@kr/audit-trail';
import { servicePrincipal } from '@kr/caller';
import type { definitions } from '@kr/contracts';
import type { Client } from '@kr/rpc';
import { type Publication, sealedIds, showsRelated } from './publication.ts';
import type { Participants } from './publish-ports.ts';
import type { FileManifest } from './publish-saga.ts';

export interface ParticipantClients {
  readonly files: Pick<Client<typeof definitions.files>, 'sealBuckets' | 'decideBuckets'>;
  readonly records: Pick<Client<typeof definitions.records>, 'preparePublication' | 'decidePublication'>;
}

/** How long the answer to a publication waits for the records service: what it does not hear now it hears later. */
const BEFORE_ANSWER_MS = 2_000;

/** The longest that a participant is waited for. */
const LONGEST_CALL_MS = 5_000;

/**
 * The files and records services, one call each for any number of entities. A call ends well before the lease does: an
 * owner that waits for a silent participant would otherwise lose its publication again and again, and never decide it.
 */
export function participants(
  { files, records }: ParticipantClients,
  { leaseMs }: { readonly leaseMs: number },
): Participants {
  const timeoutMs = Math.min(LONGEST_CALL_MS, leaseMs / 2);
  return {
    async seal(publication) {
      const { id, epoch } = publication;
      const reply = await files.sealBuckets(
        { publicationId: id, epoch, entityIds: [...sealedIds(publication)] },
        principalOf(publication),
        { timeoutMs },
      );
      if (!reply.isSealed) return { outcome: 'blocked' };
      const manifests = reply.buckets.map(({ entityId, entries, pending, totalBytes, keys }) => {
        return { entityId, entries, pending, totalBytes, keys };
      });
      return { outcome: 'sealed', manifests };
    },

    async prepare(publication, manifests) {
      const { id, epoch, subject, entityId, packageParentId, resourceIds, actor } = publication;
      const asked = new Set(resourceIds);
      const reply = await records.preparePublication(
        {
          publicationId: id,
          epoch,
          packageId: subject === 'package' ? entityId : '',
          packageParentId: packageParentId ?? '',
          ids: [...resourceIds],
          ifRevision: publication.ifRevision ?? 0,
          actor: actor === null ? null : toActorMessage(actor),
          manifests: manifests.filter((manifest) => asked.has(manifest.entityId)).map(message),
        },
        principalOf(publication),
        { timeoutMs },
      );
      if (reply.isPrepared) return { outcome: 'prepared', stagedIds: reply.stagedIds };
      if (reply.blockedBy !== '') return { outcome: 'blocked' };
      const issues = reply.issues.map(({ field, messages, record }) => {
        return record === '' ? { field, messages } : { field, messages, record };
      });
      return { outcome: 'refused', issues };
    },

    async tell(participant, publication) {
      const publicationId = publication.id;
      const isCommitted = publication.state === 'COMMITTED' || publication.state === 'DONE';
      if (participant === 'files') {
        await files.decideBuckets(
          { publicationId, isCommitted, publishedIds: [...publication.publishedIds] },
          principalOf(publication),
          { timeoutMs },
        );
      } else {
        await records.decidePublication({ publicationId, isCommitted }, principalOf(publication), {
          timeoutMs: showsRelated(publication) ? Math.min(BEFORE_ANSWER_MS, timeoutMs) : timeoutMs,
        });
      }
    },
  };
}

/** The publication's id as the request id: every log line of every service that belongs to it is found by it. */
function principalOf({ id }: Publication) {
  return servicePrincipal('packages', id);
}

function message({ entityId, entries, pending, totalBytes, keys }: FileManifest) {
  return { entityId, entries, pending, totalBytes, keys: [...keys] };
}

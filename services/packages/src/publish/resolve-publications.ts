import type { ResolvePublicationsRequest__Output, ResolvePublicationsResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { validate as isUuid } from 'uuid';
import type { Decisions } from '../store/publication-store.ts';
import type { PublicationState } from './publication.ts';

export interface ResolvePublicationsDeps {
  readonly decisions: Pick<Decisions, 'settleOverdue' | 'bury'>;
  now(): Date;
  /** Somebody holds something for a publication that was never heard of here. */
  unknown(publicationId: string): void;
}

/**
 * RPC ResolvePublications: only for services.
 *
 * An id is told to a participant only after its row was committed, so one that has no row means that this database
 * lost it (restored from an older backup). What it published is lost here with it, so `aborted` is the answer that fits
 * what is left; it is written first, so that nothing can decide otherwise later, and it is reported.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is no service
 *   - `invalid`: an id is no UUID
 */
export function resolvePublications({ decisions, now, unknown }: ResolvePublicationsDeps) {
  return async (
    { publicationIds }: ResolvePublicationsRequest__Output,
    { principal }: CallContext,
  ): Promise<ResolvePublicationsResponse> => {
    if (principal.service === null) throw new ServiceError('forbidden', 'Permission denied.');
    if (!publicationIds.every((id) => isUuid(id))) {
      throw new ServiceError('invalid', 'A publication id is a UUID.');
    }
    const states = new Map<string, PublicationState>();
    const look = async (ids: readonly string[]): Promise<void> => {
      for (const { id, state } of await decisions.settleOverdue(ids, now())) states.set(id, state);
    };
    await look(publicationIds);
    const missing = publicationIds.filter((id) => !states.has(id));
    if (missing.length > 0) {
      missing.forEach(unknown);
      await decisions.bury(missing, now());
      await look(missing);
    }
    return {
      decisions: publicationIds.map((publicationId) => ({
        publicationId,
        decision: decisionOf(states.get(publicationId)),
      })),
    };
  };
}

function decisionOf(state: PublicationState | undefined) {
  if (state === 'COMMITTED' || state === 'DONE') return 'DECISION_COMMITTED';
  return state === 'ABORTED' || state === 'ABORT_DONE' ? 'DECISION_ABORTED' : 'DECISION_UNDECIDED';
}

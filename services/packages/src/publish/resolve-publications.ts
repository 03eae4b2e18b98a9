import type { ResolvePublicationsRequest__Output, ResolvePublicationsResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { validate as isUuid } from 'uuid';
import type { Decisions } from '../store/publication-store.ts';
import type { PublicationState } from './publication.ts';

export interface ResolvePublicationsDeps {
  readonly decisions: Pick<Decisions, 'settleOverdue' | 'bury'>;
  now(): Date;
  /** A participant has state of a publication that is unknown here. */
  unknown(publicationId: string): void;
}

/**
 * RPC ResolvePublications: only for services.
 *
 * Participants learn an id only after its row was committed, so an id without a row means that this database
 * lost it (restored from an older backup). Its published content is lost with it, so `aborted` is the
 * consistent answer; it is written first, so that no later decision can differ, and it is reported.
 *
 * @throws ServiceError - `forbidden`: the caller is no service - `invalid`: an id is no UUID
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

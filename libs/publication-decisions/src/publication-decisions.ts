import { servicePrincipal } from '@kr/caller';
import type { Decision__Output as DecisionName, Definitions } from '@kr/contracts';
import type { Client } from '@kr/rpc';
import { counter } from '@kr/telemetry';

type Decision = 'committed' | 'aborted' | 'undecided';

/** The decisions of publications, by id. */
export type QueryDecisions = (publicationIds: readonly string[]) => Promise<ReadonlyMap<string, Decision>>;

export type PublicationsClient = Pick<Client<Definitions['publications']>, 'resolvePublications'>;

const TIMEOUT_MS = 3_000;

const DECISIONS: Record<DecisionName, Decision> = {
  DECISION_UNSPECIFIED: 'undecided',
  DECISION_UNDECIDED: 'undecided',
  DECISION_COMMITTED: 'committed',
  DECISION_ABORTED: 'aborted',
};

/**
 * Calls the coordinator on behalf of a service, and counts the results.
 *
 * @throws ServiceError `unavailable`: it cannot be reached
 */
export function decisionQuery(publications: PublicationsClient, service: string): QueryDecisions {
  const queries = counter(
    service,
    {
      name: 'publication_resolutions',
      description: 'Queries for the outcome of a publication, by result.',
    },
    [...new Set(Object.values(DECISIONS)), 'unreachable'].map((outcome) => ({ outcome })),
  );
  return async (publicationIds) => {
    const request = { publicationIds: [...publicationIds] };
    const options = { timeoutMs: TIMEOUT_MS };
    const sent = publications.resolvePublications(request, servicePrincipal(service), options);
    const { decisions } = await sent.catch((error: unknown) => {
      queries({ outcome: 'unreachable' });
      throw error;
    });
    for (const { decision } of decisions) queries({ outcome: DECISIONS[decision] });
    return new Map(decisions.map(({ publicationId, decision }) => [publicationId, DECISIONS[decision]]));
  };
}

import type { Principal } from '@kr/caller';
import type { Decision__Output as DecisionName, definitions } from '@kr/contracts';
import type { Decision, LifecycleDeps } from '@kr/draft-lifecycle';
import type { Client } from '@kr/rpc';
import { counter } from '@kr/telemetry';

type Publications = Pick<Client<typeof definitions.publications>, 'resolvePublications'>;

const TIMEOUT_MS = 3_000;

const DECISIONS: Record<DecisionName, Decision> = {
  DECISION_UNSPECIFIED: 'undecided',
  DECISION_UNDECIDED: 'undecided',
  DECISION_COMMITTED: 'committed',
  DECISION_ABORTED: 'aborted',
};

/** How publications ended, as their coordinator has it. */
export function publicationDecisions(
  publications: Publications,
  self: Principal,
): LifecycleDeps['resolvePublications'] {
  const asked = counter('records', {
    name: 'publication_resolutions',
    description: 'Questions how a publication ended, by the answer.',
  });
  return async (publicationIds) => {
    const ask = publications.resolvePublications({ publicationIds: [...publicationIds] }, self, {
      timeoutMs: TIMEOUT_MS,
    });
    const { decisions } = await ask.catch((error: unknown) => {
      asked({ outcome: 'unreachable' });
      throw error;
    });
    for (const { decision } of decisions) asked({ outcome: DECISIONS[decision] });
    return new Map(decisions.map(({ publicationId, decision }) => [publicationId, DECISIONS[decision]]));
  };
}

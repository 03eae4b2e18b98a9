import { servicePrincipal } from '@kr/caller';
import type { Definitions } from '@kr/contracts';
import type { Client } from '@kr/rpc';
import { counter } from '@kr/telemetry';
import type { Tx } from '../store/prisma.ts';
import { type DecidePublicationDeps, decidePublication } from './decide-publication.ts';

/** Asks the coordinator once about publications and carries out what is decided; the undecided stay as they are. */
export type SettlePublications = (publicationIds: readonly string[]) => Promise<void>;

const ASK_TIMEOUT_MS = 3_000;

const OUTCOMES = {
  DECISION_UNSPECIFIED: 'undecided',
  DECISION_UNDECIDED: 'undecided',
  DECISION_COMMITTED: 'committed',
  DECISION_ABORTED: 'aborted',
} as const;

export interface SettlePublicationsDeps<T = Tx> extends DecidePublicationDeps<T> {
  publications: Pick<Client<Definitions['publications']>, 'resolvePublications'>;
}

/**
 * @throws ServiceError
 *   - `unavailable`: the coordinator cannot be asked
 *   - whatever kept one of the decisions from being carried out, when the others have been
 */
export function settlePublications<T>(deps: SettlePublicationsDeps<T>): SettlePublications {
  const asked = counter('files', {
    name: 'publication_resolutions',
    description: 'Questions how a publication ended, by the answer.',
  });
  return async (publicationIds) => {
    const ask = deps.publications.resolvePublications(
      { publicationIds: [...publicationIds] },
      servicePrincipal('files'),
      { timeoutMs: ASK_TIMEOUT_MS },
    );
    const { decisions } = await ask.catch((error: unknown) => {
      asked({ outcome: 'unreachable' });
      throw error;
    });
    for (const { decision } of decisions) asked({ outcome: OUTCOMES[decision] });
    const failures: unknown[] = [];
    for (const { publicationId, decision } of decisions) {
      if (decision !== 'DECISION_COMMITTED' && decision !== 'DECISION_ABORTED') continue;
      const isCommitted = decision === 'DECISION_COMMITTED';
      // One that cannot be carried out must not keep the others waiting.
      await decidePublication(deps, { publicationId, isCommitted, publishedIds: null }).catch((error) =>
        failures.push(error),
      );
    }
    if (failures.length > 0) throw failures[0];
  };
}

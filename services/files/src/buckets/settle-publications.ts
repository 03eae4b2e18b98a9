import { servicePrincipal } from '@kr/caller';
import type { Definitions } from '@kr/contracts';
import type { Client } from '@kr/rpc';
import { type DecidePublicationDeps, decidePublication } from './decide-publication.ts';

/** Asks the coordinator once about publications and carries out what is decided; the undecided stay as they are. */
export type SettlePublications = (publicationIds: readonly string[]) => Promise<void>;

const ASK_TIMEOUT_MS = 3_000;

export interface SettlePublicationsDeps extends DecidePublicationDeps {
  publications: Pick<Client<Definitions['publications']>, 'resolvePublications'>;
}

/** @throws ServiceError `unavailable`: the coordinator cannot be asked */
export function settlePublications(deps: SettlePublicationsDeps): SettlePublications {
  return async (publicationIds) => {
    const { decisions } = await deps.publications.resolvePublications(
      { publicationIds: [...publicationIds] },
      servicePrincipal('files'),
      { timeoutMs: ASK_TIMEOUT_MS },
    );
    for (const { publicationId, decision } of decisions) {
      const isCommitted = decision === 'DECISION_COMMITTED';
      if (isCommitted || decision === 'DECISION_ABORTED')
        await decidePublication(deps, { publicationId, isCommitted, publishedIds: null });
    }
  };
}

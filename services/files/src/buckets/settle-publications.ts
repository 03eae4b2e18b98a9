import { type AskedPublications, publicationDecisions } from '@kr/publication-decisions';
import type { Tx } from '../store/prisma.ts';
import { type DecidePublicationDeps, decidePublication } from './decide-publication.ts';

/** Asks the coordinator once about publications and carries out what is decided; the undecided stay as they are. */
export type SettlePublications = (publicationIds: readonly string[]) => Promise<void>;

export interface SettlePublicationsDeps<T = Tx> extends DecidePublicationDeps<T> {
  publications: AskedPublications;
}

/**
 * @throws ServiceError
 *   - `unavailable`: the coordinator cannot be asked
 *   - whatever kept one of the decisions from being carried out, when the others have been
 */
export function settlePublications<T>(deps: SettlePublicationsDeps<T>): SettlePublications {
  const decisionsOf = publicationDecisions(deps.publications, 'files');
  return async (publicationIds) => {
    const failures: unknown[] = [];
    for (const [publicationId, decision] of await decisionsOf(publicationIds)) {
      if (decision === 'undecided') continue;
      const isCommitted = decision === 'committed';
      // One that cannot be carried out must not keep the others waiting.
      await decidePublication(deps, { publicationId, isCommitted, publishedIds: null }).catch((error) =>
        failures.push(error),
      );
    }
    if (failures.length > 0) throw failures[0];
  };
}

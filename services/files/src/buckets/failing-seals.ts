import { failpoint } from '@kr/failpoint';
import type { SealStore } from './seal-store.ts';

/** The store with a failpoint where a transaction has written all and is not committed: the fence comes last. */
export function failingSeals<T>(seals: SealStore<T>): SealStore<T> {
  return {
    ...seals,
    async saveFence(tx, publicationId, fence, now) {
      await seals.saveFence(tx, publicationId, fence, now);
      if (fence.state === 'prepared') await failpoint('files.seal.inside');
      else await failpoint('files.decide.inside');
    },
  };
}

import { failpoint } from '@kr/failpoint';
import type { SealStore } from './seal-store.ts';

/** The store with a failpoint where a transaction has written all and is not committed: the fence comes last. */
export function failingSeals(seals: SealStore): SealStore {
  return {
    ...seals,
    async saveFence(...given) {
      await seals.saveFence(...given);
      const [, , { state }] = given;
      await failpoint(state === 'prepared' ? 'files.seal.inside' : 'files.decide.inside');
    },
  };
}

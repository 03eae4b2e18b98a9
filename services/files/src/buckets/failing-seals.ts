import { failpoint } from '@kr/failpoint';
import type { SealStore } from './seal-store.ts';

/** The store with a failpoint where a transaction has written all and is not committed: with the fence all is written. */
export function failingSeals<T>(seals: SealStore<T>): SealStore<T> {
  const decided = () => failpoint('files.decide.inside');
  return {
    ...seals,
    async seal(...given) {
      const buckets = await seals.seal(...given);
      await failpoint('files.seal.inside');
      return buckets;
    },
    applySeal: (...given) => seals.applySeal(...given).then(decided),
    undoSeal: (...given) => seals.undoSeal(...given).then(decided),
    saveFence: (...given) => seals.saveFence(...given).then(decided),
  };
}

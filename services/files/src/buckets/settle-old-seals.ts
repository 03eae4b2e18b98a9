import type { SealStore } from './seal-store.ts';
import type { SettlePublications } from './settle-publications.ts';

/** Milliseconds a seal may last before its coordinator is asked: publishing takes far less. */
const OLD_AFTER_MS = 3_000;
const BATCH = 100;

/** Asks about seals that have lasted; a decision whose message was lost is carried out so. */
export async function settleOldSeals<T>({
  seals,
  settle,
  now,
}: {
  seals: SealStore<T>;
  settle: SettlePublications;
  now: () => Date;
}): Promise<void> {
  const before = new Date(now().getTime() - OLD_AFTER_MS);
  const old = await seals.sealedBefore(seals.outside, before, BATCH);
  if (old.length > 0) await settle(old);
}

import type { EntityKind } from '@kr/draft-lifecycle';
import type { MemoryTx } from './memory-database.ts';

/** The kind without work outside the lifecycle, which uses separate statements. */
export function simulated(
  kind: Pick<EntityKind<never>, Exclude<keyof EntityKind, 'hooks'>>,
): EntityKind<MemoryTx> {
  return { ...kind, hooks: {} };
}

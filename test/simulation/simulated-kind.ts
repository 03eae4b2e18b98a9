import type { EntityKind } from '@kr/draft-lifecycle';
import type { MemoryTx } from './memory-database.ts';

/** The kind without what it does beside the lifecycle, which are statements of their own. */
export function simulated(
  kind: Pick<EntityKind<never>, Exclude<keyof EntityKind, 'hooks'>>,
): EntityKind<MemoryTx> {
  return { ...kind, hooks: {} };
}

import type { EntityKind } from '@kr/draft-lifecycle';
import type { MemoryTx } from './memory-database.ts';

/** The kind without its relations to the other one, which are statements of their own. */
export function simulated(
  kind: Pick<EntityKind<never>, Exclude<keyof EntityKind, 'relations' | 'hooks'>>,
): EntityKind<MemoryTx> {
  return { ...kind, relations: async () => new Map(), hooks: {} };
}

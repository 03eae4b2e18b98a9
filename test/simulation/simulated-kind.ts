import type { EntityKind } from '@kr/draft-lifecycle';

/** The kind without work outside the lifecycle, which uses separate statements. */
export function simulated(kind: Pick<EntityKind, Exclude<keyof EntityKind, 'hooks'>>): EntityKind {
  return { ...kind, hooks: {} };
}

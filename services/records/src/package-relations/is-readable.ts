import type { Principal } from '@kr/caller';
import { type Entity, may } from '@kr/draft-lifecycle';

/** Whether the caller may read a resource in one form at least. */
export function isReadable(principal: Principal, entity: Entity, now: Date): boolean {
  const { draft, published } = entity;
  return (
    (published !== null && may(principal, 'read', entity, published, now)) ||
    (draft !== null && may(principal, 'read_draft', entity, draft, now))
  );
}

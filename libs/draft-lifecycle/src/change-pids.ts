import type { AuditAction } from '@kr/audit-trail';
import type { Principal } from '@kr/caller';
import type { Sql } from '@kr/database';
import { replaceDraft } from './draft-store.ts';
import type { DraftFace, Entity } from './entity.ts';
import { entityEntry } from './entity-entry.ts';
import { issuesOf } from './issue-rules.ts';
import type { LifecycleDeps } from './lifecycle-deps.ts';
import type { StoredPids } from './pids-rules.ts';

/** The new identifiers and their audit entry. */
export interface PidsChange {
  action: Extract<AuditAction, `pid.${string}`>;
  principal: Principal;
  scheme: string;
  /** The one that is reserved or discarded. */
  identifier: string;
  /** The complete new identifiers of the draft. */
  pids: StoredPids;
}

/** Gives a draft that is held other identifiers; what was wrong with the former ones is settled with it. */
export async function changePids(
  { kind, store, now }: Pick<LifecycleDeps, 'kind' | 'store' | 'now'>,
  tx: Sql,
  entity: Entity,
  draft: DraftFace,
  { action, principal, scheme, identifier, pids }: PidsChange,
): Promise<Entity> {
  const settled = new Set(issuesOf(draft.issues, 'pids'));
  const issues = draft.issues.filter((issue) => !settled.has(issue));
  const document = { ...draft.document, pids };
  const updatedAt = now();
  const revision = await replaceDraft(tx, entity.id, { document, issues }, updatedAt);
  await store.tell(tx, {
    events: [kind.events.draftSaved({ id: entity.id, parentId: entity.parent.id, revision })],
    entries: [entityEntry(principal, action, entity, { scheme, identifier })],
  });
  return { ...entity, draft: { ...draft, document, issues, revision, updatedAt } };
}

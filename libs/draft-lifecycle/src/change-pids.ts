import { appendEvents } from '@kr/event-bus';
import { replaceDraft } from './draft-store.ts';
import type { DraftFace, Entity } from './entity.ts';
import { issuesOf } from './issue-rules.ts';
import type { LifecycleDeps } from './lifecycle-deps.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import type { StoredPids } from './pids-rules.ts';

/** Gives a draft that is held other identifiers; what was wrong with the former ones is settled with it. */
export async function changePids<Tx extends LifecycleSql>(
  { kind, now }: Pick<LifecycleDeps<Tx>, 'kind' | 'now'>,
  tx: Tx,
  entity: Entity,
  draft: DraftFace,
  pids: StoredPids,
): Promise<Entity> {
  const settled = new Set(issuesOf(draft.issues, 'pids'));
  const issues = draft.issues.filter((issue) => !settled.has(issue));
  const document = { ...draft.document, pids };
  const updatedAt = now();
  const revision = await replaceDraft(tx, entity.id, { document, issues }, updatedAt);
  await appendEvents(tx, [kind.events.draftSaved({ id: entity.id, parentId: entity.parent.id, revision })]);
  return { ...entity, draft: { ...draft, document, issues, revision, updatedAt } };
}

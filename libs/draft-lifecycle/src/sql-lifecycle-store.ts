import { appendAudited } from '@kr/audit-trail';
import type { Sql } from '@kr/database';
import { loadCandidates, type Wanted } from './candidate-store.ts';
import { insertDraft, replaceDraft, replaceUnchanged } from './draft-store.ts';
import type { Entity } from './entity.ts';
import { loadEntities, lockEntities } from './entity-store.ts';
import type { HeldForVote, LifecycleStore } from './lifecycle-store.ts';
import { loadRelations } from './load-relations.ts';
import { forgetEnded, lockParticipant, preparedBefore } from './participant-store.ts';
import { dropStaged, showDraft, showStaged, unlockDrafts, writeVote } from './staging-store.ts';

/** The lifecycle on Postgres; every operation is a constant number of statements. */
export const sqlLifecycleStore: LifecycleStore = {
  lockParticipant,
  lockForVote,
  preparedBefore,
  forgetEnded,
  loadLocked,
  loadEntities,
  loadRelations,
  writeVote,
  showStaged,
  dropStaged,
  showDraft,
  unlockDrafts,
  replaceDraft,
  replaceUnchanged,
  insertDraft,
  tell: (tx, { events, entries }) => appendAudited(tx, events, entries),
};

async function loadLocked(tx: Sql, ids: readonly string[]): Promise<Map<string, Entity>> {
  // Sent together, carried out one after the other: the second sees what the first has waited for.
  const [, entities] = await Promise.all([lockEntities(tx, ids), loadEntities(tx, ids)]);
  return entities;
}

async function lockForVote(
  tx: Sql,
  wanted: Wanted & { publicationId: string },
  mostBytes: number | null,
): Promise<HeldForVote> {
  const [former, part] = await Promise.all([
    lockParticipant(tx, wanted.publicationId, wanted.ids),
    loadCandidates(tx, wanted, mostBytes),
  ]);
  return { former, ...part };
}

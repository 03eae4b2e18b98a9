import { appendAudited } from '@kr/audit-trail';
import type { Sql } from '@kr/database';
import type { Entity } from '../model/entity.ts';
import { insertDraft, replaceUnchanged } from './drafts.ts';
import { loadEntities, lockEntities } from './entities.ts';
import type { HeldForVote, LifecycleStore } from './port.ts';
import {
  dropStaged,
  forgetEnded,
  loadCandidates,
  lockParticipant,
  preparedBefore,
  showDraft,
  showStaged,
  unlockDrafts,
  type Wanted,
  writeVote,
} from './staging.ts';

/** The lifecycle on Postgres; every operation is a constant number of statements. */
export const sqlLifecycleStore: LifecycleStore = {
  lockParticipant,
  lockForVote,
  preparedBefore,
  forgetEnded,
  loadLocked,
  loadEntities,
  writeVote,
  showStaged,
  dropStaged,
  showDraft,
  unlockDrafts,
  replaceUnchanged,
  insertDraft,
  appendChangeLog: (tx, { events, entries }) => appendAudited(tx, events, entries),
};

async function loadLocked(tx: Sql, ids: readonly string[], related?: string): Promise<Map<string, Entity>> {
  // Sent together, carried out one after the other: the second sees what the first has waited for.
  const [, entities] = await Promise.all([lockEntities(tx, ids), loadEntities(tx, ids, related)]);
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

import { appendEvents } from '@kr/event-bus';
import { insertDraft, replaceDraft, replaceUnchanged } from './draft-store.ts';
import { loadEntities, lockEntities } from './entity-store.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import type { LifecycleStore } from './lifecycle-store.ts';
import { loadRelations } from './load-relations.ts';
import { forgetEnded, lockParticipant, preparedBefore } from './participant-store.ts';
import { dropStaged, showDraft, showStaged, unlockDrafts, writeVote } from './staging-store.ts';

/** The lifecycle on Postgres; every operation is a constant number of statements. */
export const sqlLifecycleStore: LifecycleStore<LifecycleSql> = {
  lockParticipant,
  preparedBefore,
  forgetEnded,
  lockEntities,
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
  appendEvents,
};

import type { SqlDatabase } from '@kr/database';
import type { Decision, Entity } from '@kr/draft-lifecycle';
import type { Publication } from '../../services/packages/src/publish/publication.ts';
import type { AskCoordinator, Variation } from './variation.ts';

/** Systems that each break one rule of the protocol, to show that the checker notices it. */
export const MUTANTS: readonly Variation[] = [
  {
    name: 'readers do not query the coordinator',
    readersAsk: () => async (ids) => undecided(ids),
  },
  {
    name: 'an unknown decision counts as undecided',
    readersAsk: (ask) => (ids) => ask(ids).catch(() => undecided(ids)),
  },
  {
    name: '"undecided" is remembered for a second',
    readersAsk(ask, time) {
      const until = new Map<string, number>();
      return async (ids) => {
        const fresh = ids.filter((id) => (until.get(id) ?? 0) <= time.now());
        const decisions = new Map([...undecided(ids), ...(fresh.length > 0 ? await ask(fresh) : [])]);
        for (const id of fresh) if (decisions.get(id) === 'undecided') until.set(id, time.now() + 1_000);
        return decisions;
      };
    },
  },
  {
    name: 'a participant unlocks by itself after a time-out',
    janitorAsks: (ask) => async (ids) => {
      const decisions = await ask(ids).catch(() => undecided(ids));
      return new Map(ids.map((id) => [id, decisions.get(id) === 'committed' ? 'committed' : 'aborted']));
    },
  },
  {
    name: '"aborted" is answered without being written',
    decisions: ({ decisions, log }) => ({
      ...decisions,
      async readAfterDeadlines(ids, now) {
        const rows = await Promise.all(ids.map((id) => log.read(id)));
        return rows.flatMap((row): Publication[] => {
          if (row === undefined) return [];
          const isOverdue = row.state === 'PREPARING' && row.deadline < now && row.leaseUntil < now;
          return [isOverdue ? { ...row, state: 'ABORTED' } : row];
        });
      },
    }),
  },
  {
    name: 'the commit compares nothing',
    log: ({ log }, { tables, connection, packageVersion }) => ({
      ...log,
      commit: (publication, publishedIds, manifests, now) =>
        connection.$transaction(async (tx) => {
          await tx.step();
          await tx.lock(`publication row ${publication.id}`);
          const row = tx.get(tables.publications, publication.id);
          if (row === undefined) return publication;
          const committed = {
            ...row,
            state: 'COMMITTED' as const,
            publishedIds: [...publishedIds],
            decidedAt: now,
          };
          tx.set(tables.publications, row.id, committed);
          if (row.subject === 'package') await packageVersion.publish(tx, committed, manifests);
          return committed;
        }),
    }),
  },
  {
    name: 'edits are not locked',
    editStore: (store) => ({
      ...store,
      loadEntities: async (sql, ids) => unlocked(await store.loadEntities(sql, ids)),
      loadLocked: async (tx, id) => {
        const entity = await store.loadLocked(tx, id);
        return entity && unlocked(new Map([[id, entity]])).get(id);
      },
      // Always succeeds, so it is never repeated in a transaction of its caller.
      replaceUnchanged: (sql, { id, draft }, log) =>
        (sql as SqlDatabase).$transaction(async (tx) => {
          await store.loadLocked(tx, id);
          await store.insertDraft(tx, { id, ...draft }, draft.updatedAt);
          await store.appendChangeLog(tx, log);
          return true;
        }),
    }),
  },
  {
    name: 'an edit leaves nothing in the trail',
    editStore: (store) => ({
      ...store,
      replaceUnchanged: (sql, saved, log) => store.replaceUnchanged(sql, saved, { ...log, entries: [] }),
    }),
  },
  {
    name: 'the commit precedes the vote',
    participants: (real) => ({
      ...real,
      async prepare(publication, ids, manifests) {
        void real.prepare(publication, ids, manifests).catch(() => undefined);
        return { outcome: 'prepared', stagedIds: ids, remainingIds: [], bytes: 0 };
      },
    }),
  },
];

function unlocked(entities: Map<string, Entity>): Map<string, Entity> {
  for (const entity of entities.values()) {
    if (entity.draft !== null) entity.draft = { ...entity.draft, lockedBy: null };
  }
  return entities;
}

function undecided(ids: Parameters<AskCoordinator>[0]): Map<string, Decision> {
  return new Map(ids.map((id) => [id, 'undecided']));
}

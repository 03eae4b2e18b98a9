import { fileURLToPath } from 'node:url';
import { openPool, quickDatabase, type Sql, type SqlDatabase, statementNames } from '@kr/database';
import { MIGRATIONS as EVENT_BUS } from '@kr/event-bus';
import { migrate } from '@kr/schema-migration';
import { freshDatabase } from '@kr/testbed';
import { type SealStore, sqlSealStore } from '../../../services/files/src/buckets/seal-store.ts';
import type { Chance } from '../chance.ts';
import { BucketTables, memorySealStore } from '../memory-seal-store.ts';
import { contention } from './contention.ts';
import { calmMemory, resultOf, type Twin, type Twins } from './twins.ts';

const FILES = {
  name: 'files',
  directory: fileURLToPath(new URL('../../../services/files/migrations', import.meta.url)),
};
const IDS = ['e1', 'e2', 'e3', 'e4'];
const PUBLICATIONS = ['x1', 'x2', 'x3'];
const COMMANDS = [
  'saveFence',
  'lockBuckets',
  'seal',
  'applySeal',
  'undoSeal',
  'makeImmutable',
  'sealedBefore',
  'lockOpenBucket',
] as const;
const STATES = ['prepared', 'applied', 'aborted'] as const;

interface Command {
  readonly name: (typeof COMMANDS)[number];
  readonly publicationId: string;
  readonly ids: readonly string[];
  readonly id: string;
  readonly number: number;
  readonly at: Date;
  readonly bucketIds: readonly string[];
  readonly isRolledBack: boolean;
}

export async function sealTwins(): Promise<Twins> {
  const memory = calmMemory();
  const inMemory = { database: memory.connection, seals: memorySealStore(new BucketTables()) };
  const fresh = await freshDatabase();
  await migrate({ databaseUrl: fresh.url, sets: [EVENT_BUS, FILES] });
  const pool = openPool(new URL(fresh.url));
  const sql = quickDatabase(pool, statementNames());
  const onSql = { database: sql, seals: sqlSealStore };

  let clock = Date.UTC(2026, 0, 1);
  let newIds = 0;
  const newId = (): string => {
    newIds += 1;
    return `00000000-0000-4000-8000-${String(newIds).padStart(12, '0')}`;
  };
  return {
    commands: COMMANDS,
    async next(choose) {
      clock += 1 + choose.below(2_000);
      const command = commandBy(choose, new Date(clock), IDS.map(newId));
      const { name, id, ids, publicationId, isRolledBack } = command;
      return {
        words: `${name} ${publicationId} ${id} [${ids}]${isRolledBack ? ', rolled back' : ''}`,
        ofMemory: await memory.inTime(() => resultOf(twin(inMemory), command)),
        ofSql: await resultOf(twin(onSql), command),
      };
    },
    contend: () =>
      contention({
        memory,
        sql,
        holding: { memory: (then) => sealHeld(inMemory, then), sql: (then) => sealHeld(onSql, then) },
        waiting: { memory: () => changeHeld(inMemory), sql: () => changeHeld(onSql) },
        expected: 'not open',
      }),
    async close() {
      await pool.end();
      await fresh.drop();
    },
  };
}

const A_BUCKET = '00000000-0000-4000-8000-999999999999';

interface Seals {
  readonly database: SqlDatabase;
  readonly seals: SealStore;
}

function sealHeld({ database, seals }: Seals, then: () => Promise<void>): Promise<void> {
  return database.$transaction(async (tx) => {
    await seals.lockBuckets(tx, ['held'], () => A_BUCKET, new Date(0));
    await then();
    await seals.seal(tx, { publicationId: 'x9', epoch: 1, entityIds: ['held'] }, new Date(0));
  });
}

function changeHeld({ database, seals }: Seals): Promise<string> {
  return database.$transaction(async (tx) => {
    const bucket = await seals.lockOpenBucket(tx, 'held', A_BUCKET, new Date(0));
    return bucket === undefined ? 'not open' : 'open';
  });
}

function commandBy(choose: Chance, at: Date, bucketIds: readonly string[]): Command {
  return {
    name: choose.oneOf(COMMANDS),
    publicationId: choose.oneOf(PUBLICATIONS),
    ids: IDS.filter(() => choose.onceIn(2)),
    id: choose.oneOf(IDS),
    number: choose.below(12),
    at,
    bucketIds,
    isRolledBack: choose.onceIn(6),
  };
}

function twin({ database, seals }: Seals): Twin<Command> {
  const act = async (tx: Sql, command: Command): Promise<unknown> => {
    const { name, publicationId, ids, id, number, at } = command;
    const unused = [...command.bucketIds];
    const newId = (): string => unused.pop() ?? '';
    switch (name) {
      case 'saveFence': {
        const state = STATES[number % STATES.length] ?? 'prepared';
        const before = await seals.lockParticipation(tx, publicationId, at);
        await seals.saveParticipation(tx, publicationId, { state, epoch: number }, at);
        return before;
      }
      case 'lockBuckets':
        return seals.lockBuckets(tx, ids, newId, at);
      case 'seal':
        await seals.lockParticipation(tx, publicationId, at);
        await seals.lockBuckets(tx, ids, newId, at);
        return seals.seal(tx, { publicationId, epoch: number, entityIds: ids }, at);
      case 'applySeal':
        await seals.lockParticipation(tx, publicationId, at);
        return seals.applySeal(tx, publicationId, number % 2 === 0 ? ids : null, at);
      case 'undoSeal':
        await seals.lockParticipation(tx, publicationId, at);
        return seals.undoSeal(tx, publicationId, at);
      case 'makeImmutable':
        // Seldom, or nothing would be left that can be sealed.
        return number === 0 ? seals.makeImmutable(tx, ids.slice(0, 1), newId, at) : undefined;
      case 'sealedBefore':
        return (await seals.sealedBefore(tx, new Date(at.getTime() - number * 1_000), 10)).sort();
      case 'lockOpenBucket':
        return seals.lockOpenBucket(tx, id, newId(), at);
    }
  };
  return {
    run: (command) =>
      database.$transaction(async (tx) => {
        const answer = await act(tx, command);
        if (command.isRolledBack) throw new Error('to be rolled back');
        return answer;
      }),
    async state() {
      const buckets = [];
      for (const id of IDS) buckets.push((await seals.findBucket(database, id)) ?? null);
      const participations = await database.$transaction(async (tx) => {
        const found = [];
        for (const id of PUBLICATIONS)
          found.push((await seals.lockParticipation(tx, id, new Date(0))) ?? null);
        return found;
      });
      return { buckets, participations, described: await seals.describeEntities(database, IDS) };
    },
  };
}

import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { migrate } from '@kr/schema-migration';
import { createLogger } from '@kr/telemetry';
import { type FreshDatabase, freshDatabase, until } from '@kr/testbed';
import pg from 'pg';
import type { EntityKind, IndexedEntity } from '../documents/entity.ts';
import { openPostgresIndex } from '../index/testing/a-postgres-index.ts';
import { aSearch, idsOf } from '../index/testing/a-search.ts';
import { anEntity, type EntityTraits } from '../index/testing/an-entity.ts';
import { fill, type PatientIndex, useLiveTables } from '../index/testing/tested-index.ts';
import { SCHEMA } from '../schema.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { loggedDrift } from './check-drift.ts';
import { operationLog } from './operation-log.ts';
import { withThrottle } from './pages.ts';
import { startOperations } from './start-operations.ts';

const PAGE = 25;
const logger = createLogger('test', new Writable({ write: (_chunk, _encoding, done) => done() }));

/** The entities of the services, in memory; `beforeList` is called for each requested page of ids. */
function aWorld(beforeList: (kind: EntityKind, afterId: string) => unknown = () => {}) {
  const entities = new Map<string, EntityTraits>();
  const of = (kind: EntityKind) =>
    [...entities.values()].filter((traits) => (traits.kind ?? 'record') === kind);
  const source: EntitySource = {
    fetch: async (kind, ids) =>
      of(kind)
        .filter(({ id }) => ids.includes(id))
        .map(anEntity),
    list: async (kind, afterId) => {
      await beforeList(kind, afterId);
      return [...new Set(of(kind).map(({ id }) => id))]
        .sort()
        .filter((id) => id > afterId)
        .slice(0, PAGE);
    },
  };
  return {
    source,
    put: (traits: EntityTraits) => void entities.set(`${traits.id} ${traits.form ?? 'published'}`, traits),
    all: () => [...entities.values()].map(anEntity),
  };
}

const record = (n: number, revision = 1): EntityTraits => ({
  id: `record-${String(n).padStart(4, '0')}`,
  revision,
  title: `Record ${n} in state ${revision}`,
});

let database: FreshDatabase;
let pool: pg.Pool;
/** Its statements mean the tables of the live generation, since `filled`. */
let tables: pg.Pool;
let index: PatientIndex;
let running: { stop(): Promise<void> }[];
beforeEach(async () => {
  running = [];
  database = await freshDatabase();
  await migrate({ databaseUrl: database.url, sets: SCHEMA });
  pool = new pg.Pool({ connectionString: database.url, max: 4 });
  pool.on('error', () => {});
  tables = new pg.Pool({ connectionString: database.url, max: 1, idleTimeoutMillis: 0 });
  tables.on('error', () => {});
  index = await openPostgresIndex(database.url, { maxConnections: 4 });
  await useLiveTables(tables);
});
afterEach(async () => {
  for (const one of running) await one.stop();
  await index.stop();
  await Promise.all([pool.end(), tables.end()]);
  await database.drop();
});

/** One process of the service. */
function operate(
  source: EntitySource,
  options: { hasArrived?: () => Promise<boolean>; everyMs?: number } = {},
) {
  const operations = startOperations({
    ...withThrottle(index, 50, new AbortController().signal),
    source,
    consumer: {
      lag: async () => ({ pending: 0, unacknowledged: 0, redelivered: 0, oldest: undefined }),
    },
    hasArrived: options.hasArrived ?? (async () => true),
    pool,
    databaseUrl: database.url,
    driftCheckEveryMs: options.everyMs ?? 86_400_000,
    now: () => new Date(),
    logger,
  });
  running.unshift(operations);
  return operations;
}

async function filled(world: ReturnType<typeof aWorld>) {
  await fill(index, world.all());
  await useLiveTables(tables);
}

const reindexed = (operations: ReturnType<typeof operate>) =>
  until(async () => {
    const { reindex } = await operations.handlers.DescribeIndex();
    return reindex?.endedAt ? reindex : undefined;
  });
const logged = async () => (await operationLog(pool).read('reindex'))?.report;
const drift = async (operations: ReturnType<typeof operate>, isRepaired = false) => {
  const { startedAt, endedAt, ...found } = (await operations.handlers.CheckDrift({ isRepaired })).drift;
  return found;
};
const NOTHING = { missing: 0, stale: 0, ghosts: 0, unreadable: 0, repaired: 0, forms: [] };

describe('building the index again', () => {
  test('loses no hit while it is searched and written, and misses nothing at the end', async () => {
    let isOver = false;
    const world = aWorld();
    for (let n = 0; n < 120; n += 1) world.put(record(n));
    await filled(world);
    // Wrong documents of the live index are corrected by the new one.
    await tables.query(
      `UPDATE index_document SET revision = 99, terms = '', content_hash = '' WHERE id = 'record-0007'`,
    );
    await tables.query(`DELETE FROM index_document WHERE id = 'record-0008'`);
    await index.write({ entities: [anEntity({ id: 'ghost' })] });

    const lost: number[] = [];
    let searches = 0;
    const searching = (async () => {
      while (!isOver) {
        const found = await index.search(aSearch({ limit: 1_000, scope: { kinds: ['record'] } }));
        if (found.total < 120) lost.push(found.total);
        searches += 1;
      }
    })();
    let writes = 0;
    const writing = (async () => {
      for (let n = 0; !isOver; n += 1) {
        const changed = [record(20 + (n % 100), 2 + n), { ...record(1_000 + n), kind: 'package' as const }];
        for (const traits of changed) world.put(traits);
        await index.write({ entities: changed.map(anEntity) });
        writes += 1;
      }
    })();

    const operations = operate(world.source);
    for (let round = 0; round < 2; round += 1) {
      await operations.handlers.StartReindex();
      await expect(operations.handlers.StartReindex()).rejects.toMatchObject({ kind: 'conflict' });
      expect(Number((await reindexed(operations)).documents)).toBeGreaterThanOrEqual(120);
    }
    const sofar = { searches, writes };
    await until(() => searches > sofar.searches + 1 && writes > sofar.writes + 1);
    isOver = true;
    await Promise.all([searching, writing]);
    expect(lost).toEqual([]);
    expect(await drift(operations)).toMatchObject(NOTHING);
  });

  test('is started again by another process when the first has ended, with the live index unchanged', async () => {
    let pages = 0;
    const gone = Promise.withResolvers<void>();
    const world = aWorld(async () => {
      pages += 1;
      if (pages === 3) await gone.promise;
    });
    for (let n = 0; n < 100; n += 1) world.put(record(n));
    await filled(world);
    const first = operate(world.source);
    await first.handlers.StartReindex();
    await until(() => pages === 3);
    // As a kill does: the connection with the lock of the builder is gone, without clean-up.
    const { rowCount } = await pool.query(
      `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
       WHERE l.locktype = 'advisory' AND l.objid = 7160052 AND d.datname = current_database()`,
    );
    expect(rowCount).toBe(1);
    expect((await index.search(aSearch())).total).toBe(100);
    gone.resolve();
    const second = operate(world.source);
    expect((await reindexed(second)).documents).toBe(100);
    expect(await drift(second)).toMatchObject(NOTHING);
  });

  test('is not repeated by another process when the first finished without recording it', async () => {
    let pages = 0;
    const world = aWorld(() => {
      pages += 1;
    });
    for (let n = 0; n < 30; n += 1) world.put(record(n));
    await filled(world);
    const first = operate(world.source);
    await first.handlers.StartReindex();
    await reindexed(first);
    const [read, built] = [pages, await logged()];
    // As a kill leaves it.
    await pool.query(`UPDATE index_operation SET ended_at = NULL WHERE name = 'reindex'`);
    const again = await reindexed(operate(world.source));
    expect({ documents: again.documents, pages, log: await logged() }).toEqual({
      documents: 30,
      pages: read,
      log: built,
    });
  });

  test('is repeated on request', async () => {
    const world = aWorld();
    world.put(record(1));
    await filled(world);
    const operations = operate(world.source);
    const builds = [];
    for (let round = 0; round < 2; round += 1) {
      await operations.handlers.StartReindex();
      await reindexed(operations);
      builds.push((await logged())?.['build']);
    }
    expect(new Set(builds).size).toBe(2);
  });

  test('waits for an unavailable service and for events in flight, and reports it', async () => {
    let isAway = true;
    let areOnTheirWay = true;
    const world = aWorld((kind) => {
      if (kind === 'package' && isAway)
        throw Object.assign(new Error('no packages'), { code: 'ECONNREFUSED' });
    });
    for (let n = 0; n < 10; n += 1) world.put(record(n));
    await filled(world);
    const operations = operate(world.source, { hasArrived: async () => !areOnTheirWay });
    const problem = async () => (await operations.handlers.DescribeIndex()).reindex?.problem ?? '';
    await operations.handlers.StartReindex();
    await until(async () => (await problem()).includes('no packages'));
    isAway = false;
    await until(async () => (await problem()).includes('events of the read entities are in flight'));
    expect((await index.search(aSearch())).total).toBe(10);
    areOnTheirWay = false;
    await reindexed(operations);
  });

  test('continues without refused forms, and reports them', async () => {
    const world = aWorld();
    for (let n = 0; n < 30; n += 1) world.put(record(n));
    await filled(world);
    // The database has no such access.
    const odd = (entity: IndexedEntity) =>
      entity.id === 'record-0007' ? { ...entity, recordAccess: 'odd' as 'public' } : entity;
    const operations = operate({
      ...world.source,
      fetch: async (kind, ids) => (await world.source.fetch(kind, ids)).map(odd),
    });
    await operations.handlers.StartReindex();
    const { documents, problem } = await reindexed(operations);
    expect({ documents, problem }).toEqual({
      documents: 29,
      problem: expect.stringMatching(/1 entities or documents were omitted.*record_access/u),
    });
    expect((await index.search(aSearch())).total).toBe(29);
  });

  test('that fails reports the reason', async () => {
    const world = aWorld(() => {
      throw new TypeError('no list');
    });
    world.put(record(1));
    await filled(world);
    const operations = operate(world.source);
    await operations.handlers.StartReindex();
    await until(async () =>
      (await operations.handlers.DescribeIndex()).reindex?.problem?.includes('no list'),
    );
    expect((await index.search(aSearch())).total).toBe(1);
  });

  test('joins a first build, during which a comparison is a conflict', async () => {
    const listed = Promise.withResolvers<void>();
    const operations = operate(aWorld(() => listed.promise).source);
    try {
      for (let request = 0; request < 2; request += 1)
        expect(await operations.handlers.StartReindex()).toEqual({});
      await expect(operations.handlers.CheckDrift({ isRepaired: false })).rejects.toMatchObject({
        kind: 'conflict',
      });
    } finally {
      listed.resolve();
    }
    await until(() => index.isFilled());
    expect(await drift(operations)).toMatchObject(NOTHING);
  });
});

describe('the state of the index', () => {
  test('is reported while writers wait, to every waiting caller', async () => {
    await fill(
      index,
      [1, 2, 3].map((n) => anEntity(record(n))),
    );
    const { DescribeIndex } = operate(aWorld().source).handlers;
    const writer = await pool.connect();
    writer.on('error', () => {});
    const waiting: Promise<unknown>[] = [];
    try {
      // It releases the lock and ends, so that no process waits for ever.
      await writer.query(
        `BEGIN; SET LOCAL transaction_timeout = '30s'; SELECT pg_advisory_xact_lock(7160051)`,
      );
      waiting.push(
        index.write({ entities: [anEntity(record(4))] }),
        index.write({ entities: [anEntity(record(5))] }),
        index.deleteOldTombstones(new Date(0)),
      );
      await until(async () => {
        const { rowCount } = await pool.query(
          `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
           WHERE datname = current_database() AND NOT granted`,
        );
        return (rowCount ?? 0) >= 2;
      });
      expect(await DescribeIndex()).toMatchObject({ documents: 3, isFilled: true });
      await writer.query('COMMIT');
    } finally {
      writer.release(true);
      await Promise.all(waiting);
    }
    expect(await DescribeIndex()).toMatchObject({ documents: 5 });
  });
});

describe('comparing the index with the services', () => {
  test('finds everything that was spoilt and nothing else, and mends just that', async () => {
    const world = aWorld();
    for (let n = 0; n < 300; n += 1) world.put(record(n, 1 + (n % 3)));
    for (let n = 0; n < 100; n += 1) world.put({ ...record(1_000 + n), kind: 'package' });
    for (let n = 0; n < 50; n += 1) world.put({ ...record(n, 5), form: 'draft' });
    await filled(world);
    const operations = operate(world.source);
    expect(await drift(operations)).toEqual({ ...NOTHING, entities: 400 });

    const before = (await tables.query('SELECT id, form, xmin::text FROM index_document')).rows;
    // One in a hundred each: another text, another change number, gone, and never there.
    await tables.query(
      `UPDATE index_document SET content_hash = 'other' WHERE id IN ('record-0100', 'record-0200')`,
    );
    await tables.query(`UPDATE index_document SET revision = revision + 1000 WHERE id = 'record-1042'`);
    await tables.query(`UPDATE index_document SET revision = 0 WHERE id = 'record-0110'`);
    await tables.query(
      `DELETE FROM index_document WHERE id IN ('record-0001', 'record-0299', 'record-1099')`,
    );
    await tables.query(`DELETE FROM index_document WHERE id = 'record-0049' AND form = 'draft'`);
    const ghosts: EntityTraits[] = [
      { id: 'a-ghost', revision: 7 },
      { id: 'z-ghost', kind: 'package' },
      { ...record(150, 9), form: 'draft' },
      { ...record(299, 9), form: 'draft' },
    ];
    await index.write({ entities: ghosts.map(anEntity) });

    const found = await drift(operations);
    expect(
      found.forms?.map(({ problem, id, isDraft }) => `${problem} ${id}${isDraft ? '*' : ''}`).sort(),
    ).toEqual([
      'ghost a-ghost',
      'ghost record-0150*',
      'ghost record-0299*',
      'ghost z-ghost',
      'missing record-0001',
      'missing record-0001*',
      'missing record-0049*',
      'missing record-0299',
      'missing record-1099',
      'stale record-0100',
      'stale record-0110',
      // Taken for one that has a draft.
      'stale record-0150',
      'stale record-0200',
      'stale record-1042',
    ]);
    expect(found).toMatchObject({ missing: 5, stale: 5, ghosts: 4, repaired: 0 });
    expect(await drift(operations, true)).toEqual({ ...found, repaired: 14 });
    expect(await drift(operations)).toEqual({ ...NOTHING, entities: 400 });
    const after = new Map(
      (await tables.query('SELECT id, form, xmin::text FROM index_document')).rows.map((row) => [
        `${row.id} ${row.form}`,
        row.xmin,
      ]),
    );
    const touched = before.filter((row) => after.get(`${row.id} ${row.form}`) !== row.xmin);
    expect(touched.length).toBeLessThanOrEqual(14);
  });

  test('does not call news on their way drift', async () => {
    const world = aWorld();
    for (let n = 0; n < 60; n += 1) world.put(record(n));
    await filled(world);
    // Committed, and indexed only when somebody waits for it.
    const late = [record(5, 2), record(70), { ...record(6, 3), form: 'draft' as const }];
    let waits = 0;
    const operations = operate(world.source, {
      hasArrived: async () => {
        waits += 1;
        await index.write({ entities: late.map(anEntity) });
        return waits > 1;
      },
    });
    for (const traits of late) world.put(traits);
    expect(await drift(operations, true)).toMatchObject(NOTHING);
    expect(waits).toBeGreaterThan(1);
  });

  test('does not count concurrent changes', async () => {
    const world = aWorld();
    for (let n = 0; n < 10; n += 1) world.put(record(n));
    await filled(world);
    await tables.query(`UPDATE index_document SET revision = 0 WHERE id IN ('record-0003', 'record-0004')`);
    let waits = 0;
    const operations = operate(world.source, {
      // At every look it is another way of being late.
      hasArrived: async () => {
        waits += 1;
        world.put(record(3, 10 + waits));
        await index.write({ entities: [anEntity(record(3, 9 + waits))] });
        return true;
      },
    });
    const { forms, ...counts } = await drift(operations, true);
    expect(counts).toMatchObject({ stale: 1, repaired: 1 });
    expect(forms?.map(({ id }) => id)).toEqual(['record-0004']);
  });

  test('is done one at a time', async () => {
    const held = Promise.withResolvers<void>();
    let isListed = false;
    const world = aWorld(() => {
      isListed = true;
      return held.promise;
    });
    await filled(world);
    const [one, other] = [operate(world.source), operate(world.source)];
    const running = drift(one);
    await until(() => isListed);
    await expect(drift(other)).rejects.toMatchObject({ kind: 'conflict' });
    held.resolve();
    expect(await running).toMatchObject(NOTHING);
  });

  test('is done by itself, without mending', async () => {
    const world = aWorld();
    for (let n = 0; n < 3; n += 1) world.put(record(n));
    await filled(world);
    await tables.query(`DELETE FROM index_document WHERE id = 'record-0001'`);
    operate(world.source, { everyMs: 50 });
    const latest = await until(async () => {
      const checked = await operationLog(pool).read('drift');
      return checked?.endedAt === undefined ? undefined : checked;
    });
    expect(loggedDrift(latest)).toMatchObject({ entities: 3, missing: 1, repaired: 0 });
    expect(idsOf(await index.search(aSearch())).sort()).toEqual(['record-0000', 'record-0002']);
  });
});

test('unrepaired differences are counted by problem', async () => {
  const world = aWorld();
  for (let n = 0; n < 5; n += 1) world.put(record(n));
  await filled(world);
  await tables.query(`DELETE FROM index_document WHERE id IN ('record-0001', 'record-0002')`);
  await index.write({ entities: [anEntity({ id: 'ghost' })] });
  let [arrivals, fetches] = [0, 0];
  const source: EntitySource = {
    ...world.source,
    fetch: async (kind, ids) => {
      if (arrivals === 2) fetches += 1;
      const found = await world.source.fetch(kind, ids);
      // At the time of the repair it is deleted: nothing to repair.
      return fetches < 2 ? found : found.filter(({ id }) => id !== 'record-0001');
    },
  };
  const hasArrived = async () => {
    arrivals += 1;
    return true;
  };
  expect(await drift(operate(source, { hasArrived }), true)).toMatchObject({
    missing: 2,
    ghosts: 1,
    repaired: 2,
  });
  const logged = await operationLog(pool).read('drift');
  expect(logged && loggedDrift(logged).left).toEqual({ missing: 1, stale: 0, ghosts: 0 });
});

test('lost events cause one new build, unless one is running', async () => {
  const world = aWorld();
  await fill(index);
  await index.write({ entities: [anEntity({ id: 'ghost' })] });
  const operations = operate(world.source);
  await Promise.all([operations.rebuild(), operations.rebuild()]);
  await reindexed(operations);
  expect(await drift(operations)).toMatchObject(NOTHING);

  const { startedAt } = (await operationLog(pool).read('reindex')) ?? {};
  await pool.query('UPDATE index_state SET filled_at = NULL');
  await operations.rebuild();
  expect((await operationLog(pool).read('reindex'))?.startedAt).toEqual(startedAt);
});

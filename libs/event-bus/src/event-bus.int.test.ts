import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sqlOn } from '@kr/database';
import { migrate } from '@kr/schema-migration';
import { createLogger } from '@kr/telemetry';
import {
  expireEvents,
  FaultProxy,
  type FreshDatabase,
  freePort,
  freshDatabase,
  oneOf,
  seededRandom,
  startNats,
  type TestNats,
  until,
} from '@kr/testbed';
import { jetstreamManager } from '@nats-io/jetstream';
import { headers } from '@nats-io/nats-core';
import { Pool, type PoolClient } from 'pg';
import {
  appendEvents,
  type BusConnection,
  type Consumer,
  type ConsumerOptions,
  connectBus,
  deadLetterHandlers,
  ensureStream,
  MIGRATIONS,
  newEvent,
  type OutboxEvent,
  type ReceivedEvent,
  type Relay,
  STREAM,
  startConsumer,
  startRelay,
} from './index.ts';
import { LIMITS as CONSUMER_LIMITS } from './start-consumer.ts';
import { TIMING as RELAY_TIMING } from './start-relay.ts';

/** Of relays whose silence is tested: a busy machine keeps a process from its work for seconds. */
const LONG_SILENCE_MS = 10_000;
const SAVED = 'knowledge.records.draft.saved';
const DELETED = 'knowledge.records.draft.deleted';
const CHANGED = 'knowledge.records.record.changed';
const logger = createLogger('event-bus-test');

let nats: TestNats;
let database: FreshDatabase;
let pool: Pool;
let proxy: Proxy;
let bus: BusConnection;
/** Started by a test; stopped after it, newest first. */
let running: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  nats = await startNats();
  database = await freshDatabase();
  await migrate({ databaseUrl: database.url, sets: [MIGRATIONS] });
  pool = new Pool({ connectionString: database.url });
  pool.on('error', () => {});
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
  await nats?.stop();
});

beforeEach(async () => {
  proxy = await startProxy(nats.url);
  bus = connectBus({ servers: proxy.url, name: 'test', logger });
});

afterEach(async () => {
  await proxy.open();
  for (const part of running.reverse()) await part.stop();
  running = [];
  const connection = await bus.whenUp();
  const { streams } = await jetstreamManager(connection);
  await streams.delete(STREAM).catch(() => {});
  await bus.close();
  await proxy.stop();
  await pool.query('truncate outbox, outbox_stream, dead_letter, consumer_position');
});

describe('relay', () => {
  test('sends events that were written while the bus was down, once each', async () => {
    await proxy.cut();
    const relay = relayFor('records');
    await write(saved('a', 1), saved('b', 1));
    await write(saved('a', 2));
    relay.nudge();
    await expect(bus.check()).rejects.toThrow('the bus cannot be reached');

    await proxy.open();
    await until(async () => (await unpublished()) === 0);
    expect(await streamed()).toEqual(['a@1', 'b@1', 'a@2']);
  });

  test('loses nothing and sends nothing twice while the bus disconnects and reconnects', async () => {
    relayFor('records');
    const written: string[] = [];
    for (let n = 1; n <= 60; n += 1) {
      await write(saved('a', n));
      written.push(`a@${n}`);
      if (n % 20 === 10) await proxy.cut();
      if (n % 20 === 0) await proxy.open();
    }
    await until(async () => (await unpublished()) === 0);
    expect((await streamed()).sort()).toEqual(written.sort());
  });

  test('leaves one copy in the stream when it dies between sending and flagging', async () => {
    relayFor('records');
    await until(async () => (await pool.query('select from outbox_stream')).rowCount === 1);
    // A lock that lets the relay read and not flag.
    const blocker = await session();
    await blocker.query('begin; lock table outbox in share row exclusive mode');
    await blocker.query(`${INSERT_BY_HAND} values (gen_random_uuid(), 'a', 1, '${SAVED}', '', '{}')`);
    await blocker.query('commit; begin; lock table outbox in share row exclusive mode');
    await until(async () => (await streamed()).length === 1);
    for (const pid of await relaySessions()) await pool.query('select pg_terminate_backend($1)', [pid]);
    await blocker.query('commit');

    await until(async () => (await unpublished()) === 0);
    expect(await streamed()).toEqual(['a@1']);
  });

  test('does not lose an event with a lower id that commits later', async () => {
    const slow = await session();
    await slow.query('begin');
    await appendEvents(sqlOn(slow), [saved('slow', 1)]);
    relayFor('records');
    await write(saved('quick', 1));
    await until(async () => (await streamed()).length === 1);
    await slow.query('commit');

    await until(async () => (await unpublished()) === 0);
    expect(await streamed()).toEqual(['quick@1', 'slow@1']);
  });

  test('works once for each database: the second is passive and takes over', async () => {
    const first = relayFor('first', { silenceMs: LONG_SILENCE_MS });
    await until(async () => (await lockHolders()).length === 1);
    relayFor('second', { silenceMs: LONG_SILENCE_MS });
    await until(async () => (await relaySessions()).length === 2);
    await write(saved('a', 1));
    await until(async () => (await unpublished()) === 0);
    expect(await lockHolders()).toEqual(['relay first']);

    await first.stop();
    await write(saved('a', 2));
    await until(async () => (await unpublished()) === 0);
    expect(await lockHolders()).toEqual(['relay second']);
    expect(await streamed()).toEqual(['a@1', 'a@2']);
  });

  test('takes over from a relay whose process or connection is frozen, and sends nothing twice', async () => {
    const line = await FaultProxy.start(new URL(database.url).host);
    running.push(line);
    relayFor('frozen', { databaseUrl: line.urlThrough(database.url), silenceMs: LONG_SILENCE_MS });
    await until(async () => (await lockHolders()).length === 1);
    relayFor('standing-by', { silenceMs: LONG_SILENCE_MS });
    await write(saved('a', 1));
    await until(async () => (await unpublished()) === 0);
    expect(await lockHolders()).toEqual(['relay frozen']);

    const thaw = line.inflict({ kind: 'black hole' });
    await write(saved('a', 2));
    await until(async () => (await unpublished()) === 0);
    expect(await lockHolders()).toEqual(['relay standing-by']);
    thaw();
    await until(async () => (await relaySessions()).length === 2);
    await write(saved('a', 3));
    await until(async () => (await unpublished()) === 0);
    expect(await streamed()).toEqual(['a@1', 'a@2', 'a@3']);
  });

  test('does not lose its session while it waits for the bus', async () => {
    relayFor('records', { silenceMs: LONG_SILENCE_MS });
    await until(async () => (await lockHolders()).length === 1);
    const [session] = await relaySessions();
    await proxy.cut();
    await write(saved('a', 1));
    // Longer than a silent session is deadOnes.
    const { rows } = await pool.query<{ over: Date }>('select now() + $1::interval as over', [
      `${LONG_SILENCE_MS + 1_000} ms`,
    ]);
    const isHeard = 'select 1 from pg_stat_activity where pid = $1 and state_change > $2';
    await until(async () => (await pool.query(isHeard, [session, rows[0]?.over])).rowCount === 1);
    expect(await relaySessions()).toEqual([session]);
  });

  test('sends at once when nudged', async () => {
    // By itself it would look in an hour.
    const hour = 3_600_000;
    const relay = relayFor('records', { pollMs: { busy: hour, idle: hour }, silenceMs: hour });
    for (let n = 1; n <= 5; n += 1) {
      await write(saved('a', n));
      relay.nudge();
      await until(async () => (await unpublished()) === 0);
    }
  });

  test('deletes events that were sent more than a week ago, and no unsent ones', async () => {
    const old = "now() - interval '8 days'";
    await pool.query(`${INSERT_BY_HAND_SENT} select gen_random_uuid(), 'old', n, '${SAVED}', '', '{}', ${old}, ${old}
                      from generate_series(1, 12000) as n`);
    await pool.query(
      `${INSERT_BY_HAND_SENT} values (gen_random_uuid(), 'new', 1, '${SAVED}', '', '{}', now(), now())`,
    );
    relayFor('records');
    await until(async () => (await pool.query('select 1 from outbox')).rowCount === 1);
  });

  test('resends the events of a lost stream', async () => {
    relayFor('records');
    await write(saved('a', 1), saved('b', 1));
    await until(async () => (await unpublished()) === 0);
    await proxy.cut();
    await loseStream();
    await proxy.open();
    await until(async () => (await streamed()).length === 2);

    await loseStream();
    await write(saved('a', 2));
    await until(async () => (await streamed()).length === 3);
    expect((await streamed()).sort()).toEqual(['a@1', 'a@2', 'b@1']);
  });

  test('resends the events of a stream that was lost and created again while a batch was in flight', async () => {
    relayFor('records');
    await write(saved('a', 1));
    await until(async () => (await unpublished()) === 0);

    const connection = await bus.whenUp();
    const { outMsgs } = connection.stats();
    proxy.freeze();
    await write(saved('a', 2));
    await until(() => connection.stats().outMsgs > outMsgs);
    await proxy.cut();
    await loseStream();
    const other = connectBus({ servers: nats.url, name: 'other', logger });
    await ensureStream(await other.whenUp());
    await other.close();
    await proxy.open();
    await until(async () => (await unpublished()) === 0);
    await until(async () => (await streamed()).length === 2);
    expect((await streamed()).sort()).toEqual(['a@1', 'a@2']);
  });

  test('resends nothing into the same stream', async () => {
    const first = relayFor('records');
    await write(saved('a', 1));
    await until(async () => (await unpublished()) === 0);
    await first.stop();
    const before = (await pool.query('select published_at from outbox')).rows;
    relayFor('records');
    await proxy.cut();
    await proxy.open();
    await write(saved('b', 1));
    await until(async () => (await unpublished()) === 0);
    expect((await pool.query('select published_at from outbox order by id limit 1')).rows).toEqual(before);
  });

  test('writes CloudEvents in binary mode', async () => {
    relayFor('records');
    const event = saved('a', 7);
    await write(event);
    await until(async () => (await unpublished()) === 0);
    const { streams } = await jetstreamManager(await bus.whenUp());
    const message = await streams.getMessage(STREAM, { seq: 1 });
    const header = Object.fromEntries(
      message?.header.keys().map((name) => [name, message.header.get(name)]) ?? [],
    );
    expect({ ...header, 'ce-time': Number.isNaN(Date.parse(header['ce-time'] ?? '')) }).toEqual({
      'Nats-Msg-Id': event.eventId,
      'Nats-Expected-Stream': STREAM,
      'ce-specversion': '1.0',
      'ce-id': event.eventId,
      'ce-source': 'records',
      'ce-type': SAVED,
      'ce-subject': 'a',
      'ce-time': false,
      'ce-revision': '7',
      'content-type': 'application/protobuf',
    });
  });

  test('rejects an event above the size limit of the bus', () => {
    const payload = { id: 'a', parentId: 'x'.repeat(600_000), revision: '1' };
    expect(() => newEvent(SAVED, payload, { aggregateId: 'a', revision: 1 })).toThrow(RangeError);
  });
});

describe('stream', () => {
  test('is created once, and settings of the operator stay', async () => {
    const connection = await bus.whenUp();
    const made = await ensureStream(connection);
    expect(made.config).toMatchObject({
      num_replicas: 1,
      discard: 'new',
      deny_purge: true,
    });
    const { streams } = await jetstreamManager(connection);
    const { config } = await streams.update(STREAM, { max_bytes: 50 * 2 ** 20 });
    const ensured = await Promise.all(Array.from({ length: 3 }, () => ensureStream(connection)));
    expect(ensured.map((stream) => stream.config)).toEqual([config, config, config]);
    expect(config.max_bytes).toBe(50 * 2 ** 20);
  });
});

describe('consumer', () => {
  test('delivers the subscribed events, decoded', async () => {
    relayFor('records');
    const handled: ReceivedEvent<typeof SAVED>[] = [];
    consumerFor('c', [SAVED], async (events) => void handled.push(...events));
    const event = saved('a', 3);
    await write(deleted('b', 1), event);
    await until(async () => handled.length === 1);
    expect(handled.map(({ time, ...rest }) => ({ ...rest, hasTime: time instanceof Date }))).toEqual([
      {
        id: event.eventId,
        subject: SAVED,
        payload: { id: 'a', parentId: 'p', revision: '3' },
        aggregateId: 'a',
        revision: 3,
        traceHeaders: {},
        hasTime: true,
      },
    ]);
  });

  test('filters by several subjects', async () => {
    relayFor('records');
    const handled: string[] = [];
    const consumer = consumerFor(
      'c',
      [SAVED, DELETED],
      async (events) => void handled.push(...events.map(nameOf)),
    );
    await write(
      saved('a', 1),
      deleted('b', 1),
      newEvent('knowledge.records.record.changed', {}, { aggregateId: 'c', revision: 1 }),
    );
    await until(async () => handled.length === 2 && (await pendingOf(consumer)) === 0);
    expect(handled).toEqual(['a@1', 'b@1']);
  });

  test('stores an event that always fails as a dead letter and handles the others', async () => {
    relayFor('records');
    const done: string[] = [];
    const attempts: string[][] = [];
    const consumer = consumerFor(
      'c',
      [SAVED],
      async (events) => {
        attempts.push(events.map(nameOf));
        if (events.some(({ aggregateId }) => aggregateId === 'bad')) throw new Error('cannot be');
        done.push(...events.map(nameOf));
      },
      { retryDelaysMs: [200, 200] },
    );
    const bad = saved('bad', 1);
    await write(saved('a', 1), bad, saved('b', 1), saved('c', 1));
    await until(() => consumer.failing() === 1);
    await until(async () => (await deadLetters()).length === 1 && (await pendingOf(consumer)) === 0);
    await write(saved('d', 1));
    await until(async () => done.includes('d@1'));

    expect(consumer.failing()).toBe(0);
    expect(done).toEqual(['a@1', 'b@1', 'c@1', 'd@1']);
    expect(attempts.filter((names) => names.includes('bad@1') && names.length === 1)).toHaveLength(3);
    expect(await deadLetters()).toEqual([
      {
        consumer: 'c',
        event_id: bad.eventId,
        subject: SAVED,
        deliveries: 3,
        reason: 'cannot be',
        payload: Buffer.from(bad.payload),
      },
    ]);
  });

  test('replays dead letters as new events on request, while others pass', async () => {
    relayFor('records');
    const done: string[] = [];
    const broken = new Set(['bad', 'worse']);
    let isAway = false;
    const handleBatch = async (events: ReceivedEvent<typeof SAVED>[]) => {
      if (isAway) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
      if (events.some(({ aggregateId }) => broken.has(aggregateId)))
        throw new Error(`cannot\0 be ${done.length}`);
      done.push(...events.map(nameOf));
    };
    const consumer = consumerFor('c', [SAVED], handleBatch, { retryDelaysMs: [] });
    await write(saved('bad', 1), saved('worse', 1), saved('a', 1));
    await until(async () => (await deadLetters()).length === 2);
    (await bus.whenUp()).publish(SAVED, Buffer.from('naked'));
    await until(async () => (await deadLetters()).length === 3 && (await pendingOf(consumer)) === 0);
    const operated = operatorOf([consumer]);
    // Nothing is blamed on an event while what the handler needs is away.
    isAway = true;
    await expect(operated.replay('all')).rejects.toThrow('refused');
    isAway = false;
    const three = await operated.list();
    expect(three.map(({ consumer: name, deliveries }) => [name, deliveries])).toEqual(
      Array(3).fill(['c', 1]),
    );

    broken.delete('bad');
    const [report] = await Promise.all([operated.replay('all'), write(saved('b', 1))]);
    await until(async () => done.includes('b@1'));
    expect({
      ...report,
      failures: report.failures?.map(({ deliveries }) => deliveries),
    }).toEqual({ replayed: 1, failed: 2, failures: [2, 2], unknownIds: [] });
    expect(done.toSorted()).toEqual(['a@1', 'b@1', 'bad@1']);
    expect((await operated.list()).map(({ id }) => id)).toEqual(report.failures?.map(({ id }) => id));

    broken.clear();
    const poison = report.failures?.find(({ eventId }) => !eventId?.startsWith('seq-'));
    expect(await operated.replay([String(poison?.id), '999', 'x'])).toEqual({
      replayed: 1,
      failed: 0,
      failures: [],
      unknownIds: ['999', 'x'],
    });
    expect((await operated.list()).map(({ reason }) => reason)).toEqual(['no ce-id, or one that is none']);
  });

  test('a dead letter is replayed only by the consumer that stored it', async () => {
    relayFor('records');
    const handled: Record<string, string[]> = { one: [], other: [] };
    let isBroken = true;
    const start = (name: string) =>
      consumerFor(
        name,
        [SAVED],
        async (events) => {
          if (isBroken) throw new Error(`${name} cannot`);
          handled[name]?.push(...events.map(nameOf));
        },
        { retryDelaysMs: [] },
      );
    const consumers = ['one', 'other'].map(start);
    await write(saved('a', 1));
    await until(async () => (await deadLetters()).length === 2);
    isBroken = false;
    const operated = operatorOf(consumers);
    const [first] = (await operated.list()).filter(({ consumer }) => consumer === 'other');
    expect(await operated.replay([String(first?.id)])).toMatchObject({ replayed: 1, failed: 0 });
    expect(handled).toEqual({ one: [], other: ['a@1'] });
    // A release without the consumer leaves its dead letters alone.
    expect(await operatorOf(consumers.slice(1)).replay('all')).toMatchObject({
      replayed: 0,
      failures: [{ consumer: 'one', reason: 'this release has no consumer one' }],
    });
    expect(await operated.replay('all')).toMatchObject({ replayed: 1, failed: 0 });
    expect(await operated.list()).toEqual([]);
  });

  test('dead letters are listed in pages, within limits', async () => {
    const { ListDeadLetters, ReplayDeadLetters } = deadLetterHandlers({
      database: { ...sqlOn(pool), ...sqlOn(pool) },
      consumers: [],
    });
    await pool.query(
      `insert into dead_letter (consumer, event_id, subject, payload, headers, deliveries, reason)
       select 'gone', n::text, 'x', '', '{}', 1, 'broken' from generate_series(1, 250) n`,
    );
    const pages: number[] = [];
    for (let afterId = '', hasMore = true; hasMore; ) {
      const page = await ListDeadLetters({ afterId, limit: 100 });
      pages.push(page.deadLetters?.length ?? 0);
      afterId = String(page.deadLetters?.at(-1)?.id);
      hasMore = page.hasMore === true;
    }
    expect(pages).toEqual([100, 100, 50]);
    const { failures, ...counts } = await ReplayDeadLetters({ ids: [] });
    expect([counts, failures?.length]).toEqual([{ replayed: 0, failed: 250, unknownIds: [] }, 100]);

    expect(await ListDeadLetters({ afterId: '999999999999999999', limit: 1 })).toEqual({
      deadLetters: [],
      hasMore: false,
    });
    const refused = (field: string) => ({ kind: 'invalid', issues: [{ field }] });
    for (const afterId of ['x', '-1', '1.5', '1000000000000000000', "0'"])
      await expect(ListDeadLetters({ afterId, limit: 1 })).rejects.toMatchObject(refused('after_id'));
    for (const limit of [0, -1, 1_001])
      await expect(ListDeadLetters({ afterId: '', limit })).rejects.toMatchObject(refused('limit'));
    const ids = Array.from({ length: 1_001 }, String);
    await expect(ReplayDeadLetters({ ids })).rejects.toMatchObject(refused('ids'));
  });

  test('reports the number and age of waiting events', async () => {
    relayFor('records');
    let isHeld = true;
    const consumer = consumerFor(
      'c',
      [SAVED, CHANGED],
      async () => {
        await until(() => !isHeld);
      },
      { maxBatch: 1 },
    );
    await until(() =>
      consumer.lag().then(
        () => true,
        () => false,
      ),
    );
    expect((await consumer.lag()).oldest).toBeUndefined();
    const before = Date.now();
    await write(deleted('x', 1), saved('a', 1));
    await until(async () => (await unpublished()) === 0);
    const middle = Date.now();
    await write(saved('b', 1));
    await until(async () => (await pendingOf(consumer)) === 2);
    const oldest = (await consumer.lag()).oldest?.getTime() ?? 0;
    expect([oldest >= before - 5, oldest <= middle + 5]).toEqual([true, true]);
    isHeld = false;
    await until(async () => (await pendingOf(consumer)) === 0);
    expect((await consumer.lag()).oldest).toBeUndefined();
  });

  test('stores an undecodable event at once', async () => {
    const done: string[] = [];
    relayFor('records');
    const consumer = consumerFor('c', [SAVED], async (events) => void done.push(...events.map(nameOf)));
    const connection = await bus.whenUp();
    await ensureStream(connection);
    const envelope = headers();
    for (const [name, value] of [
      ['ce-id', 'torn'],
      ['ce-revision', '1'],
      ['ce-time', new Date().toISOString()],
    ] as const) {
      envelope.set(name, value);
    }
    connection.publish(SAVED, Buffer.from([0x0f]), { headers: envelope });
    connection.publish(SAVED, Buffer.from('naked'));
    await connection.flush();
    await write(saved('a', 1));
    await until(async () => done.length === 1 && (await pendingOf(consumer)) === 0);
    expect((await deadLetters()).map(({ event_id, deliveries }) => ({ event_id, deliveries }))).toEqual([
      { event_id: 'seq-2', deliveries: 1 },
      { event_id: 'torn', deliveries: 1 },
    ]);
  });

  test('stores malformed messages of any kind and continues', async () => {
    relayFor('records');
    const done: string[] = [];
    const consumer = consumerFor(
      'c',
      [SAVED],
      async (events) => {
        done.push(...events.map(nameOf));
        // As any handler would: what is no id is nowhere to be found.
        for (const { payload } of events) await pool.query('select $1::text', [payload.id]);
      },
      { retryDelaysMs: [] },
    );
    const random = seededRandom(7);
    const connection = await bus.whenUp();
    await ensureStream(connection);
    const good = saved('a', 1);
    const hostile = Array.from({ length: HOSTILE }, () => mutated(Buffer.from(good.payload), random));
    for (const { data, envelope } of hostile) connection.publish(SAVED, data, { headers: envelope });
    await connection.flush();
    await write(good);
    await until(async () => done.includes('a@1') && (await pendingOf(consumer)) === 0);

    const deadOnes = await deadLetters();
    expect(deadOnes.length).toBeGreaterThan(HOSTILE / 10);
  });

  test('counts no failures while a dependency of the handler is unavailable', async () => {
    relayFor('records');
    let calls = 0;
    const done: string[] = [];
    consumerFor(
      'c',
      [SAVED],
      async (events) => {
        calls += 1;
        if (calls <= 3)
          throw new Error('no', { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) });
        done.push(...events.map(nameOf));
      },
      { retryDelaysMs: [] },
    );
    await write(saved('a', 1), saved('b', 1));
    await until(async () => done.length === 2);
    expect({ done, letters: await deadLetters() }).toEqual({ done: ['a@1', 'b@1'], letters: [] });
  });

  test('continues where it stopped', async () => {
    relayFor('records');
    const first: string[] = [];
    const consumer = consumerFor('c', [SAVED], async (events) => void first.push(...events.map(nameOf)));
    await write(saved('a', 1));
    await until(async () => first.length === 1 && (await pendingOf(consumer)) === 0);
    await consumer.stop();
    await write(saved('a', 2), saved('a', 3));
    await until(async () => (await unpublished()) === 0);

    const second: string[] = [];
    const again = consumerFor('c', [SAVED], async (events) => void second.push(...events.map(nameOf)));
    await until(async () => (await pendingOf(again)) === 0);
    expect({ first, second }).toEqual({ first: ['a@1'], second: ['a@2', 'a@3'] });
  });

  test('returns unhandled events when it stops', async () => {
    relayFor('records');
    let letGo: (() => void) | undefined;
    const released = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const started: string[] = [];
    const first = consumerFor(
      'c',
      [SAVED],
      async (events) => {
        started.push(...events.map(nameOf));
        await released;
      },
      { maxBatch: 1 },
    );
    await write(saved('a', 1), saved('b', 1), saved('c', 1));
    await until(async () => started.length === 1);
    const stopped = first.stop();
    letGo?.();
    await stopped;

    const second: string[] = [];
    const again = consumerFor('c', [SAVED], async (events) => void second.push(...events.map(nameOf)));
    await until(async () => (await pendingOf(again)) === 0);
    expect({ started, second: [...new Set(second)].sort() }).toEqual({
      started: ['a@1'],
      second: ['b@1', 'c@1'],
    });
  });

  test('counts failures of an event, not how often it was delivered', async () => {
    relayFor('records');
    const retryDelaysMs = [10];
    await write(saved('a', 1), saved('b', 1));
    // Each of these consumers is stopped at a@1 and gives b@1 back unhandled.
    for (let round = 0; round < 3; round += 1) {
      let isHandling = false;
      let finish = (): void => undefined;
      const finished = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const consumer = consumerFor(
        'c',
        [SAVED],
        async () => {
          isHandling = true;
          await finished;
          throw new Error('stopped');
        },
        { maxBatch: 1, retryDelaysMs },
      );
      await until(() => isHandling);
      const stopped = consumer.stop();
      finish();
      await stopped;
    }
    const attempts: string[] = [];
    const last = consumerFor(
      'c',
      [SAVED],
      async (events) => {
        attempts.push(...events.map(nameOf));
        if (attempts.filter((name) => name === 'b@1').length === 1 && attempts.at(-1) === 'b@1')
          throw new Error('fails once');
      },
      { maxBatch: 1, retryDelaysMs },
    );
    await until(async () => attempts.length >= 2 && (await pendingOf(last)) === 0);
    expect({ attempts: attempts.toSorted(), letters: await deadLetters() }).toEqual({
      attempts: ['a@1', 'b@1', 'b@1'],
      letters: [],
    });
  });

  test('handles all events despite outages of the bus', async () => {
    relayFor('records');
    const handled = new Set<string>();
    consumerFor('c', [SAVED], async (events) => events.forEach((event) => void handled.add(nameOf(event))));
    for (let n = 1; n <= 30; n += 1) {
      await write(saved('a', n));
      if (n % 10 === 5) await proxy.cut();
      if (n % 10 === 0) await proxy.open();
    }
    await until(async () => handled.size === 30);
  });

  test('recovers when the stream is lost', async () => {
    relayFor('records');
    const handled: string[] = [];
    consumerFor('c', [SAVED], async (events) => void handled.push(...events.map(nameOf)));
    await write(saved('a', 1));
    await until(async () => handled.length === 1);
    const { streams } = await jetstreamManager(await bus.whenUp());
    await streams.delete(STREAM);
    await write(saved('a', 2));
    await until(async () => handled.includes('a@2'));
  });

  test('shares the work with a second one of the same name', async () => {
    relayFor('records');
    const handled: string[] = [];
    const handle = async (events: ReceivedEvent<typeof SAVED>[]) => void handled.push(...events.map(nameOf));
    const consumer = consumerFor('c', [SAVED], handle);
    consumerFor('c', [SAVED], handle);
    const events = Array.from({ length: 500 }, (_, n) => saved('a', n));
    await write(...events);
    await until(async () => handled.length >= 500 && (await pendingOf(consumer)) === 0);
    expect(handled.toSorted()).toEqual(events.map(({ revision }) => `a@${revision}`).sort());
  });
});

describe('waiting for written events', () => {
  const sent = (relay: Relay, timeoutMs = 60_000) => relay.whenSent(sqlOn(pool), { timeoutMs });

  test('resolves as soon as it is sent, and at once when there is nothing', async () => {
    const relay = relayFor('records');
    expect(await sent(relay)).toBe(true);
    for (let n = 1; n <= 100; n += 1) {
      await write(saved('a', n));
      expect(await sent(relay)).toBe(true);
      expect(await unpublished()).toBe(0);
    }
    expect((await streamed()).length).toBe(100);
  });

  test('waits for a lower id that was committed after a higher one was sent', async () => {
    const relay = relayFor('records');
    const slow = await session();
    await slow.query('begin');
    await appendEvents(sqlOn(slow), [saved('slow', 1)]);
    await write(saved('quick', 1));
    // Uncommitted events are not waited for.
    expect(await sent(relay)).toBe(true);
    await proxy.cut();
    await slow.query('commit');
    expect(await sent(relay, 200)).toBe(false);
    await proxy.open();
    expect(await sent(relay)).toBe(true);
    expect(await streamed()).toEqual(['quick@1', 'slow@1']);
  });

  test('resolves for events sent by the relay of another process', async () => {
    relayFor('first');
    await until(async () => (await lockHolders()).length === 1);
    const standingBy = relayFor('second');
    await write(saved('a', 1));
    expect(await sent(standingBy)).toBe(true);
    expect(await streamed()).toEqual(['a@1']);
  });

  test('is not delayed by the interval between rounds, which delays the rest', async () => {
    const relay = relayFor('records', { roundEveryMs: 3_600_000 });
    await write(saved('a', 1));
    relay.nudge();
    expect(await sent(relay)).toBe(true);
    for (let n = 2; n <= 9; n += 1) {
      await write(saved('a', n));
      relay.nudge();
    }
    expect(await sent(relay)).toBe(true);
    expect(await streamed()).toEqual(Array.from({ length: 9 }, (_, n) => `a@${n + 1}`));
    // Each round has flagged what it sent in one statement; one may have been under way when the wait was over.
    const { rows } = await pool.query('select distinct xmin::text from outbox');
    expect(rows.length).toBeLessThanOrEqual(3);
  });

  test('waits no longer than the timeout', async () => {
    const relay = relayFor('records');
    await proxy.cut();
    await write(saved('a', 1));
    const start = performance.now();
    const consumer = consumerFor('c', [SAVED], async () => {});
    expect(await sent(relay, 300)).toBe(false);
    expect(await consumer.whenCaughtUp({ timeoutMs: 300 })).toBe(false);
    expect(performance.now() - start).toBeLessThan(30_000);
  });

  test('resolves when everything sent before was handled, whichever other events are in the stream', async () => {
    const relay = relayFor('records');
    const handled = new Set<string>();
    const consumer = consumerFor('c', [SAVED, CHANGED], async (events) => {
      await new Promise((resolve) => setTimeout(resolve, 20 * Math.random()));
      for (const event of events) handled.add(nameOf(event));
    });
    for (let n = 1; n <= 80; n += 1) {
      const foreign = n % 3 === 0 ? [deleted('x', n), deleted('y', n)] : [];
      await write(saved('a', n), ...foreign);
      expect(await sent(relay)).toBe(true);
      expect(await consumer.whenCaughtUp({ timeoutMs: 60_000 })).toBe(true);
      expect(handled).toContain(`a@${n}`);
    }
  });

  test('does not wait for events written meanwhile', async () => {
    const relay = relayFor('records');
    const handled = new Set<string>();
    const consumer = consumerFor('c', [SAVED], async (events) => {
      for (const event of events) handled.add(nameOf(event));
    });
    let isOver = false;
    // Ends the others also when the test fails.
    running.push({
      stop: async () => {
        isOver = true;
      },
    });
    const others = (async () => {
      for (let n = 1; !isOver; n += 1) {
        await write(...Array.from({ length: 20 }, (_, m) => saved(`other-${m}`, n)));
        relay.nudge();
      }
    })();
    for (let n = 1; n <= 30; n += 1) {
      await write(saved('mine', n));
      expect(await sent(relay)).toBe(true);
      expect(await consumer.whenCaughtUp({ timeoutMs: 60_000 })).toBe(true);
      expect(handled).toContain(`mine@${n}`);
    }
    isOver = true;
    await others;
  });

  test('handles the events of an interval together, but at once if a caller waits', async () => {
    const relay = relayFor('records');
    const batches: string[][] = [];
    const handle = async (events: ReceivedEvent<typeof SAVED>[]) => void batches.push(events.map(nameOf));
    const consumer = consumerFor('c', [SAVED], handle, { batchEveryMs: 60_000 });
    await write(saved('a', 1));
    await until(() => batches.length === 1);
    for (let n = 2; n <= 4; n += 1) {
      await write(saved('a', n));
      expect(await sent(relay)).toBe(true);
    }
    expect(batches).toEqual([['a@1']]);
    expect(await consumer.whenCaughtUp({ timeoutMs: 60_000 })).toBe(true);
    expect(batches.flat()).toEqual(['a@1', 'a@2', 'a@3', 'a@4']);
  });

  test('does not wait for an event that failed and is tried again later', async () => {
    const relay = relayFor('records');
    const handled = new Set<string>();
    const handle = async (events: ReceivedEvent<typeof SAVED>[]) => {
      if (events.some(({ aggregateId }) => aggregateId === 'bad')) throw new Error('cannot be');
      for (const event of events) handled.add(nameOf(event));
    };
    const consumer = consumerFor('c', [SAVED], handle, { retryDelaysMs: [60_000] });
    await write(saved('bad', 1));
    expect(await sent(relay)).toBe(true);
    expect(await consumer.whenCaughtUp({ timeoutMs: 60_000 })).toBe(true);
    for (let n = 1; n <= 20; n += 1) {
      await write(saved('a', n));
      expect(await sent(relay)).toBe(true);
      expect(await consumer.whenCaughtUp({ timeoutMs: 60_000 })).toBe(true);
      expect(handled).toContain(`a@${n}`);
    }
  });

  test('waits for events in progress in another process of the same name', async () => {
    const relay = relayFor('records');
    const handled = new Set<string>();
    const handle = async (events: ReceivedEvent<typeof SAVED>[]) => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      for (const event of events) handled.add(nameOf(event));
    };
    const consumers = [consumerFor('c', [SAVED], handle), consumerFor('c', [SAVED], handle)];
    for (let n = 1; n <= 60; n += 1) {
      await write(saved('a', n), saved('b', n), saved('c', n));
      expect(await sent(relay)).toBe(true);
      expect(await consumers[n % 2]?.whenCaughtUp({ timeoutMs: 60_000 })).toBe(true);
      expect([...'abc'].filter((id) => !handled.has(`${id}@${n}`))).toEqual([]);
    }
  });
});

const HOSTILE = 1_000;
const HOSTILE_TEXTS = [
  '',
  '\u0000',
  'x\u0000y',
  '\ufffd',
  "'; drop table outbox",
  'x'.repeat(10_000),
  '-1',
  '1e999',
  'NaN',
];

/** An event as it may be, with some bytes of its payload or one of its headers changed. */
function mutated(payload: Buffer, random: () => number) {
  const below = (limit: number) => Math.floor(random() * limit);
  const envelope = headers();
  envelope.set('ce-id', `hostile-${below(1e9)}`);
  envelope.set('ce-subject', 'hostile');
  envelope.set('ce-revision', '1');
  envelope.set('ce-time', '2026-01-01T00:00:00Z');
  const data = Buffer.from(payload);
  if (random() < 0.5) {
    const name = oneOf(random, ['ce-id', 'ce-subject', 'ce-revision', 'ce-time', 'traceparent', 'other']);
    envelope.set(name, oneOf(random, HOSTILE_TEXTS));
    return { data, envelope };
  }
  for (let changes = 1 + below(4); changes > 0; changes -= 1) data[below(data.length)] = below(256);
  return { data: data.subarray(0, random() < 0.3 ? below(data.length) : data.length), envelope };
}

const INSERT_BY_HAND = 'insert into outbox (event_id, aggregate_id, revision, subject, payload, headers)';
const INSERT_BY_HAND_SENT =
  'insert into outbox (event_id, aggregate_id, revision, subject, payload, headers, created_at, published_at)';

const saved = (id: string, revision: number) =>
  newEvent(SAVED, { id, parentId: 'p', revision: String(revision) }, { aggregateId: id, revision });
const deleted = (id: string, revision: number) =>
  newEvent(DELETED, { id, parentId: 'p', revision: String(revision) }, { aggregateId: id, revision });
/** The position that is noted of a consumer; undefined before its first look. */
async function notedPosition(durable: string): Promise<string | undefined> {
  const { rows } = await pool.query('select position from consumer_position where consumer = $1', [durable]);
  return rows[0]?.position;
}

describe('events that the stream has dropped', () => {
  /**
   * Successive consumers of one name: the events each received, and the number of recoveries from lost
   * events.
   */
  function aLife(durable: string, subjects: ReceivedEvent['subject'][]) {
    const heard: string[] = [];
    let recovered = 0;
    let failures = 0;
    const start = () =>
      consumerFor(durable, subjects, async (events) => void heard.push(...events.map(nameOf)), {
        recover: async () => {
          if (failures > 0) {
            failures -= 1;
            throw new Error('not yet');
          }
          recovered += 1;
        },
      });
    return {
      heard,
      start,
      recovered: () => recovered,
      failNext: () => {
        failures = 1;
      },
    };
  }
  const expireAll = async () => expireEvents(await bus.whenUp());
  const isSent = async () => (await unpublished()) === 0;

  test('before delivery cause one recovery, also if the process ends before it is finished', async () => {
    relayFor('records');
    const life = aLife('away', [SAVED]);
    const before = life.start();
    await write(saved('a', 1));
    await until(() => life.heard.length === 1);
    await until(async () => (await notedPosition('away')) !== undefined);
    await before.stop();
    await write(saved('a', 2), saved('b', 1));
    await until(isSent);
    await expireAll();
    life.failNext();
    const failing = life.start();
    const isLost = async () =>
      (await pool.query('select 1 from consumer_position where lost_at is not null')).rowCount === 1;
    await until(isLost);
    await write(saved('c', 1));
    await until(() => life.heard.length === 2);
    await failing.stop();
    expect([life.recovered(), await isLost()]).toEqual([0, true]);

    const next = life.start();
    await until(async () => !(await isLost()));
    await next.stop();
    life.start();
    await write(saved('c', 2));
    await until(() => life.heard.length === 3);
    expect([life.heard, life.recovered()]).toEqual([['a@1', 'c@1', 'c@2'], 1]);
  });

  test('after delivery, or of other subjects, cause no recovery', async () => {
    relayFor('records');
    const life = aLife('present', [DELETED]);
    const before = life.start();
    await write(deleted('a', 1), saved('b', 1), saved('b', 2));
    await until(async () => life.heard.length === 1 && (await isSent()));
    await before.stop();
    // Its first poll records that nothing is left up to here.
    const again = life.start();
    await until(async () => (await notedPosition('present')) === '3');
    await again.stop();
    await expireAll();
    life.start();
    await write(deleted('c', 1));
    await until(() => life.heard.length === 2);
    expect(life.recovered()).toBe(0);
  });

  test('before the consumer was created cause no recovery', async () => {
    relayFor('records');
    await write(saved('a', 1));
    await until(isSent);
    await expireAll();
    const life = aLife('new', [SAVED]);
    life.start();
    await write(saved('b', 1));
    await until(() => life.heard.length === 1);
    expect(life.recovered()).toBe(0);
  });
});

/** The dead-letter operations of these consumers. */
function operatorOf(consumers: Consumer[]) {
  const { ListDeadLetters, ReplayDeadLetters } = deadLetterHandlers({
    database: { ...sqlOn(pool), ...sqlOn(pool) },
    consumers,
  });
  return {
    list: async () => (await ListDeadLetters({ afterId: '0', limit: 10 })).deadLetters ?? [],
    replay: (ids: string[] | 'all') => ReplayDeadLetters({ ids: ids === 'all' ? [] : ids }),
  };
}

const nameOf = ({ aggregateId, revision }: { aggregateId: string; revision: number }) =>
  `${aggregateId}@${revision}`;

function relayFor(
  source: string,
  { databaseUrl = database.url, ...timing }: Partial<typeof RELAY_TIMING & { databaseUrl: string }> = {},
): Relay {
  const options = { databaseUrl, natsConnection: bus, source, logger };
  const relay = startRelay(options, { ...RELAY_TIMING, ...timing });
  running.push(relay);
  return relay;
}

function consumerFor<Subject extends ReceivedEvent['subject']>(
  durable: string,
  subjects: Subject[],
  handleBatch: (events: ReceivedEvent<Subject>[]) => Promise<void>,
  {
    recover = async () => undefined,
    batchEveryMs = 0,
    ...limits
  }: Partial<Pick<ConsumerOptions<Subject>, 'recover' | 'batchEveryMs'> & typeof CONSUMER_LIMITS> = {},
): Consumer {
  const consumer = startConsumer(
    {
      connection: bus,
      durable,
      subjects,
      handleBatch,
      recover,
      batchEveryMs,
      database: { ...sqlOn(pool), ...sqlOn(pool) },
      logger,
    },
    { ...CONSUMER_LIMITS, ...limits },
  );
  running.push(consumer);
  return consumer;
}

async function pendingOf(consumer: Consumer): Promise<number> {
  const { pending, unacknowledged } = await consumer.lag();
  return pending + unacknowledged;
}

async function write(...events: OutboxEvent[]): Promise<void> {
  await appendEvents(sqlOn(pool), events);
}

/** A separate connection, for a transaction that stays open. */
async function session(): Promise<PoolClient> {
  const client = await pool.connect();
  client.on('error', () => {});
  running.push({ stop: async () => client.release(true) });
  return client;
}

async function unpublished(): Promise<number> {
  return (await pool.query('select 1 from outbox where published_at is null')).rowCount ?? 0;
}

async function deadLetters() {
  const { rows } = await pool.query(
    'select consumer, event_id, subject, deliveries, reason, payload from dead_letter order by event_id',
  );
  return rows;
}

async function relaySessions(): Promise<number[]> {
  const { rows } = await pool.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name like 'relay %'`,
  );
  return rows.map(({ pid }) => pid);
}

async function lockHolders(): Promise<string[]> {
  const { rows } = await pool.query<{ application_name: string }>(
    `select application_name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and granted and datname = current_database()`,
  );
  return rows.map(({ application_name }) => application_name.replace(` ${process.pid}`, ''));
}

/** Deletes the stream past the proxy. */
async function loseStream(): Promise<void> {
  const direct = connectBus({ servers: nats.url, name: 'operator', logger });
  const { streams } = await jetstreamManager(await direct.whenUp());
  await streams.delete(STREAM);
  await direct.close();
}

/** The events of the stream, in order. */
async function streamed(): Promise<string[]> {
  const connection = await bus.whenUp();
  const { streams } = await jetstreamManager(connection);
  const info = await streams.info(STREAM).catch(() => undefined);
  const names: string[] = [];
  for (let seq = info?.state.first_seq ?? 1; seq <= (info?.state.last_seq ?? 0); seq += 1) {
    const message = await streams.getMessage(STREAM, { seq });
    names.push(`${message?.header.get('ce-subject')}@${message?.header.get('ce-revision')}`);
  }
  return names;
}

interface Proxy {
  url: string;
  /** Blocks the bytes that open connections send to the server. */
  freeze(): void;
  /** Drops every connection and lets none in. */
  cut(): Promise<void>;
  open(): Promise<void>;
  stop(): Promise<void>;
}

/** A cable between the tests and the server that can be pulled out. */
async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  const listen = (at: number) =>
    new Promise<Server>((resolve) => {
      const server = createServer((inward) => {
        const outward = dial(Number(port), hostname);
        for (const [socket, other] of [
          [inward, outward],
          [outward, inward],
        ] as const) {
          sockets.add(socket);
          socket.on('error', () => {});
          socket.on('close', () => {
            sockets.delete(socket);
            other.destroy();
          });
        }
        clients.add(inward);
        inward.on('close', () => clients.delete(inward));
        inward.pipe(outward).pipe(inward);
      });
      server.listen(at, '127.0.0.1', () => resolve(server));
    });
  // Claimed, so that no other process uses it during the outage.
  const ownPort = await freePort();
  let server: Server | undefined = await listen(ownPort);
  const cut = async () => {
    const closed = new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
    server = undefined;
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    url: `nats://127.0.0.1:${ownPort}`,
    freeze: () => {
      for (const client of clients) client.unpipe().pause();
    },
    cut,
    open: async () => {
      server ??= await listen(ownPort);
    },
    stop: cut,
  };
}

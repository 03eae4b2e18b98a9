import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { createLogger } from '@kr/telemetry';
import { until } from '@kr/testbed';
import pg from 'pg';
import { openDatabase } from '../database.ts';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';
import { bodyCipher } from './body-cipher.ts';
import { executeOnce } from './execute-once.ts';
import {
  BODY_MAX_BYTES,
  type KeyStore,
  keyStore,
  LEASE_MS,
  OWNER_MAX_BODIES,
  OWNER_MAX_BYTES,
  RETENTION_MS,
} from './key-store.ts';

let one: GatewayUnderTest;
let other: GatewayUnderTest;
let token: string;
let created: number;

beforeAll(async () => {
  one = await startGateway();
  // Two replicas share the database.
  other = await startGateway({ DATABASE_URL: one.databaseUrl });
  ({ token } = await one.createUser('ada'));
});
afterAll(async () => {
  await other.stop();
  await one.stop();
});
beforeEach(() => {
  created = 0;
  for (const { script } of [one, other]) {
    script.records = {
      CreateDraft: async () => {
        created += 1;
        const id = `draft-${created}`;
        await new Promise((resolve) => setTimeout(resolve, 30));
        return { document: aDocument({ id }) };
      },
    };
  }
});

interface Wishes {
  key?: string;
  body?: string;
  path?: string;
  as?: string;
  accept?: string;
}

async function post(
  gateway: GatewayUnderTest,
  { key, body = '{}', path = '/api/records', as = token, accept }: Wishes,
) {
  const headers = new Headers();
  if (key !== undefined) headers.set('idempotency-key', key);
  if (accept !== undefined) headers.set('accept', accept);
  const response = await gateway.fetch(path, { method: 'POST', token: as, body, headers });
  const text = await response.text();
  return {
    status: response.status,
    text,
    body: text === '' ? undefined : JSON.parse(text),
    isReplayed: response.headers.get('idempotency-replayed') === 'true',
    headers: response.headers,
  };
}

describe('a key', () => {
  test('gets the stored answer again, from either replica, and nothing is done twice', async () => {
    const key = randomUUID();
    const first = await post(one, { key });
    const again = [await post(one, { key }), await post(other, { key })];
    expect([first.status, first.isReplayed, first.body.id, created]).toEqual([201, false, 'draft-1', 1]);
    for (const repeat of again) {
      expect([repeat.status, repeat.isReplayed, repeat.text]).toEqual([201, true, first.text]);
      for (const name of ['content-type', 'etag', 'content-length', 'cache-control'])
        expect([name, repeat.headers.get(name)]).toEqual([name, first.headers.get(name)]);
    }
  });

  test('of fifty requests at once on two replicas lets one through', async () => {
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, number) => post(number % 2 === 0 ? one : other, { key })),
    );
    const executed = answers.filter(({ status, isReplayed }) => status === 201 && !isReplayed);
    const replays = answers.filter(({ status, isReplayed }) => status === 201 && isReplayed);
    const refused = answers.filter(({ status }) => status === 409);
    expect([created, executed.length, executed.length + replays.length + refused.length]).toEqual([1, 1, 50]);
    for (const { body, headers } of refused) {
      expect([body, headers.get('retry-after')]).toEqual([
        {
          status: 409,
          message: 'The request with this idempotency key is still being executed.',
          code: 'idempotency_key_in_use',
        },
        '1',
      ]);
    }
    for (const { body } of replays) expect(body.id).toBe('draft-1');
  });

  test('is executed once by two gateways whose clocks differ by more than the lease', async () => {
    await using ahead = await startGateway(
      { DATABASE_URL: one.databaseUrl },
      { now: () => new Date(Date.now() + 2 * LEASE_MS) },
    );
    let executions = 0;
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const CreateDraft = async () => {
      executions += 1;
      await finished;
      return { document: aDocument({ id: 'draft-1' }) };
    };
    one.script.records = { CreateDraft };
    ahead.script.records = { CreateDraft };
    const key = randomUUID();
    const first = post(one, { key });
    await until(() => executions === 1);
    const second = post(ahead, { key });
    let isRefused = false;
    void second.then(() => {
      isRefused = true;
    });
    await until(() => isRefused || executions === 2);
    finish();
    expect([(await first).status, (await second).body.code, executions]).toEqual([
      201,
      'idempotency_key_in_use',
      1,
    ]);
  });

  test.each<[string, Wishes]>([
    ['another body', { body: '{"metadata":{}}' }],
    ['another route', { path: '/api/packages' }],
    ['another question', { path: '/api/records?expand=1' }],
  ])('is refused for %s', async (_name, change) => {
    const key = randomUUID();
    await post(one, { key });
    const { status, body } = await post(other, { key, ...change });
    expect([status, body, created]).toEqual([
      422,
      {
        status: 422,
        message: 'This idempotency key was used for another request.',
        code: 'idempotency_key_reused',
      },
      1,
    ]);
  });

  test('is its caller’s own', async () => {
    const key = randomUUID();
    await post(one, { key });
    const { token: strangers } = await one.createUser('eva');
    const { status, isReplayed } = await post(one, { key, as: strangers });
    expect([status, isReplayed, created]).toEqual([201, false, 2]);
  });

  test('is ignored for anonymous callers', async () => {
    const answer = await one.fetch('/api/records', {
      method: 'POST',
      body: '{}',
      headers: { 'idempotency-key': randomUUID() },
    });
    expect([answer.status, created]).toEqual([401, 0]);
  });

  test.each(['x'.repeat(256), 'schlüssel', ''])('%j is none', async (key) => {
    const { status, body } = await post(one, { key });
    expect([status, body.errors, created]).toEqual([
      400,
      [
        {
          field: 'idempotency_key',
          messages: ['The header Idempotency-Key must be 1 to 255 printable ASCII characters.'],
        },
      ],
      0,
    ]);
  });

  test('may be one character or 255 of them', async () => {
    const statuses = [await post(one, { key: '!' }), await post(one, { key: `"${'~'.repeat(253)}"` })];
    expect(statuses.map(({ status }) => status)).toEqual([201, 201]);
  });
});

describe('an answer that cannot be read any more', () => {
  test('is reported as lost, and nothing is executed again', async () => {
    const key = randomUUID();
    await post(one, { key });
    const client = new pg.Client(one.databaseUrl);
    await client.connect();
    await client.query('update idempotency_key set body = $1', [Buffer.alloc(64)]);
    await client.end();
    const { status, body } = await post(other, { key });
    expect([status, body.code, created]).toEqual([409, 'idempotency_answer_lost', 1]);
  });
});

describe('an answer over 256 KiB', () => {
  const largeDocument = () => aDocument({ id: 'large' }, { metadata: { title: 'x'.repeat(BODY_MAX_BYTES) } });

  test('is not stored: a repeat executes nothing and reports the former status', async () => {
    let executions = 0;
    one.script.records.CreateDraft = async () => {
      executions += 1;
      return { document: largeDocument() };
    };
    const key = randomUUID();
    const first = await post(one, { key });
    const again = [await post(one, { key }), await post(other, { key })];
    expect([first.status, first.body.id, executions]).toEqual([201, 'large', 1]);
    for (const repeat of again) {
      expect([repeat.status, repeat.isReplayed, repeat.body]).toEqual([
        409,
        false,
        {
          status: 409,
          message:
            'The request with this idempotency key was executed and answered 201. The answer is not stored; read the resource instead.',
          code: 'idempotency_answer_not_stored',
        },
      ]);
    }
  });
});

describe('refusals', () => {
  test('that stay are given again, in the format of the first time', async () => {
    let executions = 0;
    one.script.records.CreateDraft = async () => {
      executions += 1;
      throw new ServiceError('invalid', 'A validation error occurred.', {
        issues: [{ field: 'access.record', messages: ['no'] }],
      });
    };
    const key = randomUUID();
    const first = await post(one, { key, accept: 'application/problem+json' });
    const again = await post(one, { key });
    expect([first.status, again.status, again.isReplayed, executions]).toEqual([400, 400, true, 1]);
    expect([again.text, again.headers.get('content-type')]).toEqual([first.text, 'application/problem+json']);
  });

  test.each([
    new ServiceError('unavailable', 'away', { retryAfterMs: 1_000 }),
    new ServiceError('internal', 'broken'),
    new ServiceError('conflict', 'The draft is being published.', { code: 'draft_locked' }),
    new ServiceError('precondition_failed', 'another revision'),
    new ServiceError('rate_limited', 'too many'),
    new ServiceError('unauthenticated', 'too late'),
  ])('that may pass are tried again: $kind', async (error) => {
    const { CreateDraft } = one.script.records;
    one.script.records.CreateDraft = async () => {
      throw error;
    };
    const key = randomUUID();
    const first = await post(one, { key });
    if (CreateDraft !== undefined) one.script.records.CreateDraft = CreateDraft;
    const again = await post(one, { key });
    expect(first.status).toBeGreaterThanOrEqual(401);
    expect([again.status, again.isReplayed, created]).toEqual([201, false, 1]);
  });
});

describe('time', () => {
  const request = (owner = 1) => ({
    owner: new Uint8Array(Buffer.alloc(32, owner)),
    hash: new Uint8Array(Buffer.from(randomUUID().repeat(2).slice(0, 32))),
    fingerprint: new Uint8Array(Buffer.alloc(32, 1)),
  });
  const answer = { status: 201, headers: { etag: '"1"' }, body: new Uint8Array([1, 0, 255]) };
  let database: ReturnType<typeof openDatabase>;
  let keys: KeyStore;
  beforeAll(() => {
    database = openDatabase(new URL(one.databaseUrl));
    keys = keyStore(database, bodyCipher('a secret of at least thirty-two characters'));
  });
  afterAll(() => database.$disconnect());

  /** Moves the row of a key into the past, as the database's clock cannot be set. */
  async function elapse({ hash }: { hash: Uint8Array<ArrayBuffer> }, ms: number): Promise<void> {
    await database.$executeRaw`
      update idempotency_key set leased_until = leased_until - ${ms} * interval '1 ms',
        created_at = created_at - ${ms} * interval '1 ms'
      where hash = ${hash}`;
  }

  test('frees a key whose execution died, when its lease ends; a late end of it changes nothing', async () => {
    const keyed = request();
    const [dead, next] = [randomUUID(), randomUUID()];
    expect(await keys.claim(keyed, dead)).toEqual({ is: 'ours' });
    await elapse(keyed, LEASE_MS - 5_000);
    expect(await keys.claim(keyed, next)).toEqual({ is: 'running' });
    await elapse(keyed, 5_000);
    expect(await keys.claim(keyed, next)).toEqual({ is: 'ours' });
    expect(await keys.claim(keyed, dead)).toEqual({ is: 'running' });
    await keys.store(keyed, dead, { ...answer, status: 500 });
    await keys.release(keyed, dead);
    expect(await keys.claim(keyed, dead)).toEqual({ is: 'running' });
    await keys.store(keyed, next, answer);
    expect(await keys.claim(keyed, dead)).toEqual({ is: 'answered', answer });
  });

  test('does not free a key for another request, however dead its execution', async () => {
    const keyed = request();
    await keys.claim(keyed, randomUUID());
    await elapse(keyed, LEASE_MS * 2);
    const another = { ...keyed, fingerprint: new Uint8Array(32) };
    expect(await keys.claim(another, randomUUID())).toEqual({ is: 'another' });
  });

  test('a long execution keeps its key', async () => {
    const keyed = request();
    const attempt = randomUUID();
    await keys.claim(keyed, attempt);
    await elapse(keyed, LEASE_MS);
    await keys.renew(keyed, attempt);
    expect(await keys.claim(keyed, randomUUID())).toEqual({ is: 'running' });
  });

  test('of a day ends a key, also for another request', async () => {
    const keyed = request();
    const attempt = randomUUID();
    await keys.claim(keyed, attempt);
    await keys.store(keyed, attempt, answer);
    const another = { ...keyed, fingerprint: new Uint8Array(32) };
    await elapse(keyed, RETENTION_MS - 60_000);
    expect(await keys.claim(another, randomUUID())).toEqual({ is: 'another' });
    await elapse(keyed, 60_000);
    expect(await keys.claim(another, randomUUID())).toEqual({ is: 'ours' });
  });

  test('of a day deletes keys, and only those', async () => {
    const [old, young] = [request(), request()];
    await keys.claim(old, randomUUID());
    await keys.claim(young, randomUUID());
    await elapse(old, RETENTION_MS);
    expect(await keys.sweep()).toBeGreaterThanOrEqual(1);
    expect(await keys.sweep()).toBe(0);
    expect(await database.idempotencyKey.count({ where: { hash: { in: [old.hash, young.hash] } } })).toBe(1);
  });

  async function storeAnswer(owner: number, body = new Uint8Array(BODY_MAX_BYTES)) {
    const keyed = request(owner);
    const attempt = randomUUID();
    await keys.claim(keyed, attempt);
    await keys.store(keyed, attempt, { ...answer, headers: { location: '/api/records/1' }, body });
    return keyed;
  }

  const storedOf = async (owner: number) => {
    const rows = await database.$queryRaw<{ bytes: number; bodies: number }[]>`
      select sum(octet_length(body))::integer as bytes, count(nullif(body, ''))::integer as bodies
      from idempotency_key where owner = ${request(owner).owner}`;
    return rows[0];
  };

  test('removes the oldest bodies of an owner beyond 16 MiB, and status and Location remain', async () => {
    const bystander = await storeAnswer(2);
    const stored = [];
    for (let count = 0; count < 70; count += 1) stored.push(await storeAnswer(3));
    const [oldest, newest] = [stored.at(0), stored.at(-1)];
    if (oldest === undefined || newest === undefined) throw new Error('nothing was stored');
    const { bodies, bytes } = (await storedOf(3)) ?? { bodies: 0, bytes: 0 };
    expect([bodies, bytes <= OWNER_MAX_BYTES]).toEqual([63, true]);
    expect(await keys.claim(oldest, randomUUID())).toEqual({
      is: 'not_stored',
      status: 201,
      location: '/api/records/1',
    });
    for (const stored of [newest, bystander])
      expect(await keys.claim(stored, randomUUID())).toMatchObject({ is: 'answered' });
  });

  test('removes the oldest bodies of an owner beyond 1,000', async () => {
    await database.$executeRaw`
      insert into idempotency_key (owner, hash, fingerprint, attempt, leased_until, created_at, status, headers, body)
      select ${request(4).owner}, sha256(('many ' || number)::bytea), ${request(4).fingerprint},
        gen_random_uuid(), now(), now() - number * interval '1 ms', 201, '{}', 'sealed'
      from generate_series(1, ${OWNER_MAX_BODIES + 500}) as number`;
    const newest = await storeAnswer(4, answer.body);
    expect((await storedOf(4))?.bodies).toBe(OWNER_MAX_BODIES);
    expect(await keys.claim(newest, randomUUID())).toMatchObject({ is: 'answered' });
  });

  test('an answer is sent even when it cannot be stored', async () => {
    const logger = createLogger('test');
    logger.level = 'silent';
    const failing = {
      ...keys,
      keep: async () => {
        throw new Error('the database went away');
      },
    };
    const once = executeOnce({ keys: failing, logger, newId: randomUUID });
    expect(await once(request(), async () => answer)).toEqual({ answer, isReplayed: false });
  });
});

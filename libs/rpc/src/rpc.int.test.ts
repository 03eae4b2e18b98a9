import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { anonymous, type Principal, SCOPES, servicePrincipal } from '@kr/caller';
import { type Definitions, definitions } from '@kr/contracts';
import { type Issue, ServiceError } from '@kr/service-error';
import { createLogger } from '@kr/telemetry';
import {
  type Client,
  type ClientOptions,
  createClient,
  detached,
  type Handlers,
  type Server,
  serve,
} from './index.ts';

type Publications = Definitions['publications'];

const key = 'a-secret-of-at-least-thirty-two-characters';
const RECORDS_KEY = 'the-secret-of-records-thirty-two-characters';
const callerKeys = new Map([
  ['gateway', key],
  ['records', RECORDS_KEY],
]);
const CALLERS = { gateway: 'all', records: ['ResolvePublications'] } as const;
const logger = createLogger('rpc-test');
logger.level = 'silent';
const principal: Principal = {
  userId: '7',
  isAdmin: false,
  scopes: SCOPES,
  grants: [{ linkId: 'l1', parentId: 'p1', permission: 'edit' }],
  service: null,
  requestId: 'q1',
};

const opened: { stop?: () => Promise<void>; close?: () => void }[] = [];
afterEach(async () => {
  for (const { stop, close } of opened.splice(0).reverse()) {
    close?.();
    await stop?.();
  }
});

const answers: Handlers<Publications> = {
  Publish: async ({ id }) => ({ publicationId: `x-${id}` }),
  Validate: async () => ({ problems: [] }),
  ResolvePublications: async () => ({ decisions: [] }),
};

async function start(
  handlers: Partial<Handlers<Publications>> = {},
  { port = 0, stopTimeoutMs = 500 } = {},
): Promise<Server> {
  const server = await serve({
    services: [
      { definition: definitions.publications, handlers: { ...answers, ...handlers }, callers: CALLERS },
    ],
    host: '127.0.0.1',
    port,
    audience: 'packages',
    callerKeys,
    logger,
    stopTimeoutMs,
  });
  opened.push(server);
  return server;
}

/** Waits for a condition, for a minute at most. */
async function come(isThere: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await isThere())) {
    if (Date.now() > deadline) throw new Error('the condition was not met in time');
    await delay(20);
  }
}

function connect(
  port: number,
  options: Partial<Pick<ClientOptions, 'audience' | 'caller' | 'key'>> = {},
): Client<Publications> {
  const client = createClient(definitions.publications, {
    address: `127.0.0.1:${port}`,
    audience: 'packages',
    caller: 'gateway',
    key,
    // Much longer than a busy machine takes.
    defaultTimeoutMs: 60_000,
    ...options,
  });
  opened.push(client);
  return client;
}

async function failureOf(work: Promise<unknown>): Promise<object> {
  try {
    return { answered: await work };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { kind, message, issues, code, retryAfterMs } = error;
    return { kind, message, issues, code, retryAfterMs };
  }
}

describe('rpc between two processes', () => {
  test('carries the request, the principal and the whole answer', async () => {
    const received: unknown[] = [];
    const { port } = await start({
      ResolvePublications: async ({ publicationIds }, call) => {
        received.push(call.principal, call.method, call.signal.aborted);
        return {
          decisions: publicationIds.map((publicationId) => ({ publicationId, decision: 'DECISION_ABORTED' })),
        };
      },
    });
    const answer = await connect(port).resolvePublications({ publicationIds: ['a', 'b'] }, principal);
    expect(answer).toEqual({
      decisions: [
        { publicationId: 'a', decision: 'DECISION_ABORTED' },
        { publicationId: 'b', decision: 'DECISION_ABORTED' },
      ],
    });
    expect(received).toEqual([
      principal,
      'knowledge.packages.v1.PublicationsService/ResolvePublications',
      false,
    ]);
  });

  test('carries an error with its kind, issues, code and time to wait', async () => {
    const issues: Issue[] = [
      { field: 'metadata.title', messages: ['Missing data for required field.'], record: 'aaaaa-aaaaa' },
      { field: 'files.enabled', messages: ['Ünïcode, twice.', 'b'] },
    ];
    const { port } = await start({
      Publish: async () => {
        throw new ServiceError('not_publishable', 'Ungültig – A validation error occurred.', {
          issues,
          code: 'x',
          retryAfterMs: 7,
        });
      },
    });
    expect(await failureOf(connect(port).publish({ id: 'p' }, principal))).toEqual({
      kind: 'not_publishable',
      message: 'Ungültig – A validation error occurred.',
      issues,
      code: 'x',
      retryAfterMs: 7,
    });
  });

  test('carries the problems of a thousand resources', async () => {
    const issues = Array.from(
      { length: 3_000 },
      (_, index): Issue => ({
        field: `metadata.creators.${index % 7}.affiliations`,
        messages: ['Missing data for required field.'],
        record: `${Math.random().toString(36).slice(2, 7)}-${Math.random().toString(36).slice(2, 7)}`,
      }),
    );
    const { port } = await start({
      Publish: async () => {
        throw new ServiceError('not_publishable', 'no', { issues });
      },
    });
    expect(await failureOf(connect(port).publish({ id: 'p' }, principal))).toMatchObject({
      kind: 'not_publishable',
      issues,
    });
  });

  test('never reads the message of a caller that it refuses', async () => {
    let messages = 0;
    const { Publish, ...others } = definitions.publications;
    const counted: Publications = {
      ...others,
      Publish: {
        ...Publish,
        requestDeserialize(bytes) {
          messages += 1;
          return Publish.requestDeserialize(bytes);
        },
      },
    };
    const server = await serve({
      services: [{ definition: counted, handlers: answers, callers: CALLERS }],
      host: '127.0.0.1',
      port: 0,
      audience: 'packages',
      callerKeys,
      logger,
    });
    opened.push(server);
    const large = { id: 'x'.repeat(32 * 1024 * 1024) };
    const refused = [
      connect(server.port, { key: 'another-secret-of-thirty-two-characters' }),
      connect(server.port, { caller: 'records', key: RECORDS_KEY }),
    ].map((client) => failureOf(client.publish(large, principal)));
    expect(await Promise.all(refused)).toMatchObject([{ kind: 'unauthenticated' }, { kind: 'forbidden' }]);
    expect(messages).toBe(0);
    await connect(server.port).publish({ id: 'p' }, principal);
    expect(messages).toBe(1);
  });

  test('reports a response that is larger than a message may be', async () => {
    const { port } = await start({ Publish: async () => ({ publicationId: 'x'.repeat(65 * 1024 * 1024) }) });
    const client = connect(port);
    await expect(client.publish({ id: 'a' }, principal)).rejects.toMatchObject({
      kind: 'invalid',
      code: 'answer_too_large',
    });
  });

  test('reveals nothing of an unexpected error', async () => {
    const { port } = await start({
      Publish: async () => {
        throw new TypeError('select password from "user"');
      },
    });
    expect(await failureOf(connect(port).publish({ id: 'p' }, principal))).toEqual({
      kind: 'internal',
      message: 'Internal server error.',
      issues: [],
      code: undefined,
      retryAfterMs: undefined,
    });
  });

  test('a caller reaches the RPCs that are listed for it, and no others', async () => {
    let isHandled = false;
    const { port } = await start({
      Publish: async () => {
        isHandled = true;
        return {};
      },
    });
    const records = connect(port, { caller: 'records', key: RECORDS_KEY });
    expect(await records.resolvePublications({ publicationIds: [] }, principal)).toEqual({ decisions: [] });
    expect(await failureOf(records.publish({ id: 'p' }, principal))).toMatchObject({ kind: 'forbidden' });
    expect(isHandled).toBe(false);
  });

  test.each([
    { name: 'signed with another key', options: { key: 'another-secret-of-thirty-two-characters' } },
    { name: 'signed with the key of another caller', options: { caller: 'records' } },
    { name: 'of an unknown caller', options: { caller: 'constructor' } },
    { name: 'meant for another service', options: { audience: 'records' } },
  ])('refuses a principal $name', async ({ options }) => {
    let isHandled = false;
    const { port } = await start({
      Publish: async () => {
        isHandled = true;
        return {};
      },
    });
    expect(await failureOf(connect(port, options).publish({ id: 'p' }, principal))).toMatchObject({
      kind: 'unauthenticated',
    });
    expect(isHandled).toBe(false);
  });

  test('fails at the deadline and cancels the call at the callee', async () => {
    let isAborted = false;
    const { port } = await start({
      Publish: async (_request, { signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        isAborted = true;
        return {};
      },
    });
    const client = connect(port);
    // On a busy machine a call may not have arrived by then.
    await come(async () => {
      const failure = await failureOf(client.publish({ id: 'p' }, principal, { timeoutMs: 2_000 }));
      expect(failure).toMatchObject({ kind: 'unavailable', retryAfterMs: 1_000 });
      return isAborted;
    });
  });

  test('is cancelled when the caller cancels', async () => {
    const { port } = await start({ Publish: (_request, { signal }) => delay(2_000, {}, { signal }) });
    const abort = new AbortController();
    const running = failureOf(connect(port).publish({ id: 'p' }, principal, { signal: abort.signal }));
    setTimeout(() => abort.abort(), 50);
    expect(await running).toMatchObject({ kind: 'unavailable' });
    expect(
      await failureOf(connect(port).publish({ id: 'p' }, principal, { signal: abort.signal })),
    ).toMatchObject({
      kind: 'unavailable',
    });
  });

  test('hands the deadline on to the calls a handler makes, and not to work it detaches or leaves behind', async () => {
    const remaining: Record<string, number> = {};
    const last = await start({
      Publish: async ({ id }, { deadline }) => {
        remaining[id] = deadline.getTime() - Date.now();
        return {};
      },
    });
    const toLast = connect(last.port);
    const afterwards: Promise<unknown>[] = [];
    const middle = await start({
      Publish: async () => {
        await toLast.publish({ id: 'inside' }, servicePrincipal('packages'));
        await detached(() => toLast.publish({ id: 'detached' }, servicePrincipal('packages')));
        afterwards.push(
          delay(50).then(() => toLast.publish({ id: 'afterwards' }, servicePrincipal('packages'))),
        );
        return {};
      },
    });
    await connect(middle.port).publish({ id: 'p' }, anonymous('q'), { timeoutMs: 20_000 });
    await Promise.all(afterwards);
    expect(remaining['inside']).toBeLessThanOrEqual(20_000);
    expect(remaining['detached']).toBeGreaterThan(20_000);
    expect(remaining['afterwards']).toBeGreaterThan(20_000);
  });

  test('fails with unavailable at once while the server is down, and recovers', async () => {
    const first = await start();
    const client = connect(first.port);
    expect(await client.publish({ id: '1' }, principal)).toMatchObject({ publicationId: 'x-1' });

    await first.stop();
    const started = performance.now();
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect(await failureOf(client.publish({ id: '2' }, principal))).toMatchObject({ kind: 'unavailable' });
    }
    // Waiting for the deadline of each would take five minutes.
    expect(performance.now() - started).toBeLessThan(20_000);
    await delay(2_000);

    await start({}, { port: first.port });
    await come(async () => 'answered' in (await failureOf(client.publish({ id: '3' }, principal))));
  });

  test('lets running calls finish when it stops, and ends calls that exceed the grace period', async () => {
    let running = 0;
    const Publish: Handlers<Publications>['Publish'] = ({ id }, { signal }) => {
      running += 1;
      return delay(Number(id), { publicationId: 'done' }, { signal });
    };
    const server = await start({ Publish }, { stopTimeoutMs: 5_000 });
    const client = connect(server.port);
    const short = failureOf(client.publish({ id: '200' }, principal));
    const long = failureOf(client.publish({ id: '60000' }, principal));
    await come(() => running === 2);
    const started = performance.now();
    await Promise.all([server.stop(), server.stop()]);
    expect(performance.now() - started).toBeLessThan(30_000);
    expect([await short, await long]).toMatchObject([
      { answered: { publicationId: 'done' } },
      { kind: 'unavailable' },
    ]);
  });

  test('serves several services on one port', async () => {
    const server = await serve({
      services: [
        { definition: definitions.publications, handlers: answers, callers: CALLERS },
        {
          definition: definitions.deadLetters,
          handlers: {
            ListDeadLetters: async () => ({ hasMore: true }),
            ReplayDeadLetters: async () => ({}),
          },
          callers: { gateway: 'all' },
        },
      ],
      host: '127.0.0.1',
      port: 0,
      audience: 'packages',
      callerKeys,
      logger,
    });
    opened.push(server);
    const letters = createClient(definitions.deadLetters, {
      address: `127.0.0.1:${server.port}`,
      audience: 'packages',
      caller: 'gateway',
      key,
    });
    opened.push(letters);
    expect(await letters.listDeadLetters({}, principal)).toEqual({ deadLetters: [], hasMore: true });
  });
});

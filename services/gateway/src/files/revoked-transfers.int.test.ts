import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { servicePrincipal } from '@kr/caller';
import { ServiceError } from '@kr/service-error';
import { until } from '@kr/testbed';
import pg from 'pg';
import { type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

const CONTENT = '/api/records/e7vvn-90a62/draft/files/a.bin/content';
const UPLOAD = '/api/records/e7vvn-90a62/draft/files/a.bin/tus/1c9ff3a4-8b0e-4a43-8a6e-0f5c4f6f3c11';

const GRANT = { linkId: 'l', parentId: 'p', permission: 'edit' };

let writers = 0;
let database: pg.Client;
let patient: GatewayUnderTest;
/** Authorises transfers every 100 ms. */
let hasty: GatewayUnderTest;
let hastyDatabase: pg.Client;
beforeAll(async () => {
  [patient, hasty] = await Promise.all([
    startGateway(),
    startGateway({}, { limits: { recheckTransfersMs: 100 } }),
  ]);
  database = new pg.Client(patient.databaseUrl);
  hastyDatabase = new pg.Client(hasty.databaseUrl);
  await Promise.all([database.connect(), hastyDatabase.connect()]);
});
afterAll(async () => {
  await Promise.all([database?.end(), hastyDatabase?.end()]);
  await Promise.all([patient?.stop(), hasty?.stop()]);
});
beforeEach(() => {
  for (const { script } of [patient, hasty])
    script.records = { Authorise: async () => ({ ticket: 'ticket', filesEnabled: true, order: [] }) };
});

const revoke = (db: pg.Client, userId: string) =>
  db.query('update personal_access_token set revoked_at = now() where user_id = $1', [userId]);

/** Counts the bytes of uploads that arrive, and how many arrive as a whole. */
function receive(gateway: GatewayUnderTest): { bytes: number; whole: number; broken: number } {
  const received = { bytes: 0, whole: 0, broken: 0 };
  gateway.script.content = (request, response) => {
    request.on('data', (chunk: Buffer) => {
      received.bytes += chunk.length;
    });
    request.on('error', () => {});
    request.once('end', () => {
      received.whole += 1;
      if (request.method === 'PATCH') response.writeHead(204).end();
      else response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    request.once('close', () => {
      if (!request.readableEnded) received.broken += 1;
    });
  };
  return received;
}

function open(gateway: GatewayUnderTest, method: string, path: string, headers: Record<string, string>) {
  const request = httpRequest(`${gateway.baseUrl}${path}`, { method, agent: false, headers });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).on('error', reject);
  });
  return { request, answer };
}

const TUS = {
  'tus-resumable': '1.0.0',
  'upload-offset': '0',
  'content-type': 'application/offset+octet-stream',
};

describe('an upload', () => {
  test.each([
    ['PUT', CONTENT, { 'content-length': '20' }],
    ['PUT', CONTENT, { 'transfer-encoding': 'chunked' }],
    ['PATCH', UPLOAD, { ...TUS, 'content-length': '20' }],
  ])(
    'by %s to %s with %j is not attached when its token was revoked meanwhile',
    async (method, path, more) => {
      writers += 1;
      const { userId, token } = await patient.createUser(`writer${writers}`);
      const received = receive(patient);
      const { request, answer } = open(patient, method, path, { authorization: `Bearer ${token}`, ...more });
      request.write('0123456789');
      await until(() => received.bytes === 10);
      await sleep(1_200);
      await revoke(database, userId);
      request.end('0123456789');
      const { statusCode } = await answer;
      await until(() => received.broken === 1);
      expect([statusCode, received.whole]).toEqual([401, 0]);
    },
  );

  test('is not attached when its access link was revoked meanwhile', async () => {
    const received = receive(patient);
    let isRevoked = false;
    patient.script.accessLinks = {
      ResolveTokens: async () => ({ grants: isRevoked ? [] : [GRANT] }),
    };
    const { request, answer } = open(patient, 'PUT', CONTENT, {
      authorization: 'AccessLink secret',
      'content-length': '20',
    });
    request.write('0123456789');
    await until(() => received.bytes === 10);
    await sleep(1_200);
    isRevoked = true;
    request.end('0123456789');
    expect((await answer).statusCode).toBe(401);
    await until(() => received.broken === 1);
    expect(received.whole).toBe(0);
  });

  test('arrives as a whole when it took long and nothing was revoked', async () => {
    const { token } = await patient.createUser('slow');
    const received = receive(patient);
    for (const headers of [{ 'content-length': '20' }, { 'transfer-encoding': 'chunked' }]) {
      const { request, answer } = open(patient, 'PUT', CONTENT, {
        authorization: `Bearer ${token}`,
        ...headers,
      });
      request.write('0123456789');
      await sleep(1_200);
      request.end('0123456789');
      expect((await answer).statusCode).toBe(200);
    }
    expect(received).toEqual({ bytes: 40, whole: 2, broken: 0 });
  });

  test('that is running ends when its holder may no longer write', async () => {
    const { token } = await hasty.createUser('lost');
    const received = receive(hasty);
    const { request, answer } = open(hasty, 'PUT', CONTENT, {
      authorization: `Bearer ${token}`,
      'content-length': '20',
    });
    request.write('0123456789');
    await until(() => received.bytes === 10);
    hasty.script.records = {
      Authorise: async () => {
        throw new ServiceError('forbidden', 'Permission denied.');
      },
    };
    const response = await answer;
    expect([response.statusCode, await json(response)]).toMatchObject([
      403,
      { message: 'Permission denied.' },
    ]);
    await until(() => received.broken === 1);
    request.destroy();
  });
});

describe('a download', () => {
  /** Sends one byte every 20 ms until the gateway has had enough. */
  function dribble(): { ended: () => boolean } {
    let isEnded = false;
    hasty.script.content = (_request: IncomingMessage, response: ServerResponse) => {
      response.writeHead(200, { 'content-length': '100000' });
      const timer = setInterval(() => response.write('x'), 20);
      response.once('close', () => {
        clearInterval(timer);
        isEnded = true;
      });
    };
    return { ended: () => isEnded };
  }

  async function begin(token: string) {
    const { request, answer } = open(hasty, 'GET', CONTENT, { authorization: `Bearer ${token}` });
    request.on('error', () => {}).end();
    const response = await answer;
    response.on('error', () => {}).resume();
    return response;
  }

  test.each<[what: string, end: (userId: string, name: string) => Promise<unknown>]>([
    ['token is revoked', (userId) => revoke(hastyDatabase, userId)],
    [
      'user is disabled',
      (_userId, name) => hasty.identity.setUserDisabled({ name, isDisabled: true }, servicePrincipal('test')),
    ],
  ])('ends when its %s', async (what, end) => {
    const name = `reader-${what.replaceAll(' ', '-')}`;
    const { userId, token } = await hasty.createUser(name);
    const sent = dribble();
    const response = await begin(token);
    await sleep(300);
    expect(response.destroyed).toBe(false);
    await end(userId, name);
    await until(() => response.destroyed && sent.ended());
    expect(response.complete).toBe(false);
  });

  test('of a draft continues when the draft is published, and while the service is unavailable', async () => {
    const { token } = await hasty.createUser('publisher');
    dribble();
    const response = await begin(token);
    const forms: string[] = [];
    hasty.script.records = {
      Authorise: async ({ form }) => {
        forms.push(form);
        if (form === 'FORM_DRAFT') throw new ServiceError('not_found', 'Not found.');
        return { ticket: 'ticket', filesEnabled: true, order: [] };
      },
    };
    await until(() => forms.length >= 4);
    hasty.script.records = {
      Authorise: async () => {
        forms.push('unavailable');
        throw new ServiceError('unavailable', 'Later.', { retryAfterMs: 1 });
      },
    };
    await until(() => forms.filter((form) => form === 'unavailable').length >= 2);
    expect(response.destroyed).toBe(false);
    response.destroy();
  });
});

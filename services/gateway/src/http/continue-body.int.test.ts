import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

let gateway: GatewayUnderTest;
let token: string;
let database: pg.Client;

beforeAll(async () => {
  gateway = await startGateway();
  ({ token } = await gateway.createUser('ada'));
  database = new pg.Client(gateway.databaseUrl);
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await gateway?.stop();
});

interface Outcome {
  continued: boolean;
  status: number | undefined;
}

/** A creation that sends its body only after 100 Continue. */
function create(authorization: string): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    let continued = false;
    const request = httpRequest(`${gateway.baseUrl}/api/records`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization,
        expect: '100-continue',
        'content-type': 'application/json',
        'content-length': 2,
      },
    });
    request.on('continue', () => {
      continued = true;
      request.end('{}');
    });
    request.on('response', (response) => {
      response.resume();
      resolve({ continued, status: response.statusCode });
    });
    request.on('error', reject);
    request.flushHeaders();
  });
}

test('100 Continue is sent only after the credentials were checked', async () => {
  gateway.script.records = { CreateDraft: async () => ({ document: aDocument() }) };
  expect(await create(`Bearer ${token}`)).toEqual({ continued: true, status: 201 });
  expect(await create('Bearer kpat_wrong')).toEqual({ continued: false, status: 401 });
});

test('credentials that were revoked while the body arrived are refused', async () => {
  const { token: leaving, userId } = await gateway.createUser('leaving');
  let created = 0;
  gateway.script.records = {
    CreateDraft: async () => {
      created += 1;
      return { document: aDocument() };
    },
  };
  const request = httpRequest(`${gateway.baseUrl}/api/records`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${leaving}`,
      'content-type': 'application/json',
      'content-length': 2,
    },
  });
  const status = new Promise((resolve, reject) => {
    request.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject);
  });
  request.write('{');
  await sleep(1_500);
  await database.query('update personal_access_token set revoked_at = now() where user_id = $1', [userId]);
  request.end('}');
  expect(await status).toBe(401);
  expect(created).toBe(0);
});

test('a refused body is not read without end', async () => {
  const { hostname, port } = new URL(gateway.baseUrl);
  const socket = connect(Number(port), hostname);
  let sent = 0;
  const ended = new Promise<void>((resolve) =>
    socket.on('close', () => resolve()).on('error', () => resolve()),
  );
  socket.write(
    'POST /api/records HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer kpat_wrong\r\nContent-Type: application/json\r\n' +
      'Content-Length: 1000000000\r\n\r\n',
  );
  socket.resume();
  const chunk = Buffer.alloc(1024 * 1024);
  const more = (): void => {
    while (!socket.destroyed && sent < 1_000 * chunk.length) {
      sent += chunk.length;
      if (!socket.write(chunk)) return;
    }
  };
  socket.on('drain', more);
  more();
  await ended;
  // The rest stays in buffers of the system.
  expect(sent).toBeLessThan(600 * chunk.length);
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isTransient } from '@kr/service-error';
import { FaultProxy, freshDatabase } from '@kr/testbed';
import { type Database, openDatabase } from '../database.ts';
import { tokenStore } from './token-store.ts';
import { userAdministrationStore } from './user-administration-store.ts';
import { userStore } from './user-store.ts';

const NEW_TOKEN = {
  id: '00000000-0000-4000-8000-000000000000',
  name: 'a token',
  scopes: [],
  hash: new Uint8Array(32),
  createdAt: new Date(0),
  expiresAt: null,
};

const NEW_USER = { name: 'ada', isAdmin: false, addsToken: false };
const OPERATOR = { service: 'test', requestId: 'r' };

let database: Database;
const administration = () => userAdministrationStore(database);

beforeAll(() => {
  // No process listens there.
  database = openDatabase(new URL('postgres://nobody@127.0.0.1:1/none'));
});
afterAll(() => database.$disconnect());

describe('a database that is away', () => {
  test.each([
    ['a token', () => tokenStore(database).findToken(new Uint8Array(32))],
    ['a user', () => userStore(database).findUser(1)],
    ['a further token', () => tokenStore(database).addToken(1, NEW_TOKEN, 1)],
    ['the tokens of a user', () => tokenStore(database).tokensOf(1)],
    ['the end of a token', () => tokenStore(database).revoke(1, NEW_TOKEN.id, new Date(0))],
    ['a new user', () => administration().create(NEW_USER, NEW_TOKEN, OPERATOR)],
    ['a disabled user', () => administration().setDisabled('ada', true, new Date(0), OPERATOR)],
    ['revoked tokens', () => administration().revoke('ada', 'all', new Date(0), OPERATOR)],
    ['the users', () => administration().list(0, 1)],
    ['what was done to a user', () => administration().auditLog('ada', 1)],
  ])('%s may be retried', async (_name, ask) => {
    await expect(ask()).rejects.toMatchObject({ kind: 'unavailable', retryAfterMs: 1_000 });
  });
});

test('a database that falls silent is waited for only so long', async () => {
  const ownDatabase = await freshDatabase();
  const proxy = await FaultProxy.start(new URL(ownDatabase.url).host);
  const silent = openDatabase(new URL(proxy.urlThrough(ownDatabase.url)));
  try {
    await silent.$queryRaw`select 1`;
    proxy.inflict({ kind: 'black hole' });
    const unavailable = { kind: 'unavailable', retryAfterMs: 1_000 };
    // One of them has the connection that there is, the others wait for new connections.
    await Promise.all([
      expect(tokenStore(silent).findToken(new Uint8Array(32))).rejects.toMatchObject(unavailable),
      expect(userStore(silent).findUser(1)).rejects.toMatchObject(unavailable),
      expect(silent.idempotencyKey.count().catch(isTransient)).resolves.toBe(true),
    ]);
  } finally {
    await proxy.stop();
    await silent.$disconnect();
    await ownDatabase.drop();
  }
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Database, openDatabase } from './prisma.ts';
import { tokenStore } from './token-store.ts';
import { userStore } from './user-store.ts';

const NEW_TOKEN = {
  id: '00000000-0000-4000-8000-000000000000',
  name: 'a token',
  scopes: [],
  hash: new Uint8Array(32),
  createdAt: new Date(0),
  expiresAt: null,
};

let database: Database;

beforeAll(() => {
  // Nobody listens there.
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
    ['a new token', () => userStore(database).addToken({ name: 'ada', isAdmin: false }, NEW_TOKEN)],
  ])('%s is to be asked for again', async (_name, ask) => {
    await expect(ask()).rejects.toMatchObject({ kind: 'unavailable', retryAfterMs: 1_000 });
  });
});

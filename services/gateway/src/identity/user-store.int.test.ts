import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Database, openDatabase } from './prisma.ts';
import { userStore } from './user-store.ts';

let database: Database;

beforeAll(() => {
  // Nobody listens there.
  database = openDatabase(new URL('postgres://nobody@127.0.0.1:1/none'));
});
afterAll(() => database.$disconnect());

describe('a database that is away', () => {
  test.each([
    ['a token', () => userStore(database).findToken(new Uint8Array(32))],
    ['a user', () => userStore(database).findUser(1)],
    [
      'a new token',
      () =>
        userStore(database).addToken(
          { name: 'ada', isAdmin: false },
          { id: '00000000-0000-4000-8000-000000000000', hash: new Uint8Array(32), createdAt: new Date(0) },
        ),
    ],
  ])('%s is to be asked for again', async (_name, ask) => {
    await expect(ask()).rejects.toMatchObject({ kind: 'unavailable', retryAfterMs: 1_000 });
  });
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';
import { mintToken } from './access-token.ts';

let gateway: GatewayUnderTest;
let database: pg.Client;

beforeAll(async () => {
  gateway = await startGateway();
  database = new pg.Client(gateway.databaseUrl);
  await database.connect();
});

afterAll(async () => {
  await database.end();
  await gateway.stop();
});

async function whoIs(token: string | undefined, path = '/api/user') {
  const response = await gateway.fetch(path, token === undefined ? {} : { token });
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    body: await response.json(),
  };
}

const nobody = (message: string, challenge = 'Bearer error="invalid_token"') => ({
  status: 401,
  challenge,
  body: { status: 401, message, code: challenge === 'Bearer' ? 'unauthenticated' : 'invalid_token' },
});

describe('users', () => {
  test('a new user is known by the token that was shown once', async () => {
    const { userId, token, isAdmin } = await gateway.createUser('ada');
    const answer = {
      status: 200,
      challenge: null,
      body: {
        id: Number(userId),
        name: 'ada',
        is_admin: false,
        links: {
          self: `${gateway.baseUrl}/api/user`,
          tokens: `${gateway.baseUrl}/api/user/tokens`,
          records: `${gateway.baseUrl}/api/user/records`,
          packages: `${gateway.baseUrl}/api/user/packages`,
        },
      },
    };
    expect([isAdmin, await whoIs(token), await whoIs(undefined, `/api/user?access_token=${token}`)]).toEqual([
      false,
      answer,
      answer,
    ]);
  });

  test('an existing name gets a further token, and both are valid', async () => {
    const [first, second] = await Promise.all([gateway.createUser('eva'), gateway.createUser('eva')]);
    expect(second.userId).toBe(first.userId);
    expect(second.token).not.toBe(first.token);
    expect([(await whoIs(first.token)).status, (await whoIs(second.token)).status]).toEqual([200, 200]);
  });

  test('a user may be made an operator, and stays one', async () => {
    await gateway.createUser('root');
    expect((await gateway.createUser('root', true)).isAdmin).toBe(true);
    expect((await gateway.createUser('root', false)).isAdmin).toBe(true);
  });

  test.each(['', 'a b', 'ä', 'x'.repeat(65), "x'; drop table personal_access_token"])(
    '%j is no name',
    async (name) => {
      await expect(gateway.createUser(name)).rejects.toMatchObject({
        kind: 'invalid',
        issues: [{ field: 'name' }],
      });
    },
  );
});

describe('an operator', () => {
  test('finds a user by name or id', async () => {
    const { userId } = await gateway.createUser('grace');
    const found = { userId, name: 'grace' };
    expect([await gateway.findUser('grace'), await gateway.findUser(userId)]).toEqual([found, found]);
  });

  test.each(['nobody', '999999999', '99999999999999', '', "x' or 1=1"])(
    'gets an error that %j is no user',
    async (name) => {
      await expect(gateway.findUser(name)).rejects.toMatchObject({ kind: 'not_found' });
    },
  );
});

describe('credentials', () => {
  test('none are requested', async () => {
    expect(await whoIs(undefined)).toEqual(nobody('Authentication required.', 'Bearer'));
  });

  test.each<[name: string, header: string, message: string]>([
    ['a token that is none', 'Bearer abc', 'The access token is malformed.'],
    ['a token that was never issued', `Bearer ${mintToken()}`, 'The access token is unknown.'],
    ['two tokens', 'Bearer a b', 'The access token is malformed.'],
    ['no token', 'Bearer', 'The access token is malformed.'],
    ['another scheme', 'Basic YTpi', 'The authentication scheme is unknown; use Bearer.'],
  ])('%s is refused with a reason', async (_name, authorization, message) => {
    const response = await gateway.fetch('/api/user', { headers: { authorization } });
    expect([response.status, await response.json()]).toEqual([
      401,
      { status: 401, message, code: 'invalid_token' },
    ]);
  });

  test('bad ones are refused also where none are needed', async () => {
    expect(await whoIs(mintToken(), '/api/records')).toEqual(nobody('The access token is unknown.'));
  });

  test('a token ends when it expires', async () => {
    const { token, userId } = await gateway.createUser('temp');
    await database.query('update personal_access_token set expires_at = now() where user_id = $1', [userId]);
    expect(await whoIs(token)).toEqual(nobody('The access token has expired.'));
  });

  test('a revoked token ends at once', async () => {
    const { token, userId } = await gateway.createUser('left');
    expect((await whoIs(token)).status).toBe(200);
    await database.query('update personal_access_token set revoked_at = now() where user_id = $1', [userId]);
    expect(await whoIs(token)).toEqual(nobody('The access token has been revoked.'));
  });

  test('no token is stored in plain text', async () => {
    const { token } = await gateway.createUser('safe');
    const { rows } = await database.query('select row_to_json(t)::text as text from personal_access_token t');
    expect(rows.some(({ text }) => text.includes(token))).toBe(false);
  });
});

import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { run } from '../../clients/kr/src/run.ts';
import { createTerminal } from '../../clients/kr/src/terminal/terminal.ts';
import { recordDocument } from './story/documents.ts';
import { httpClient } from './story/http-client.ts';

let system: TestSystem;
beforeAll(async () => {
  system = await startSystem({ isReplicated: true });
});
afterAll(() => system?.stop());

/** Runs `kr admin user` as an operator of the machine, who has nothing but the data folder. */
async function kr(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' };
  const into = (name: keyof typeof said) => ({
    write: (text: string) => {
      said[name] += text;
    },
  });
  const dataDir = dirname(system.logDir);
  const code = await run(['admin', 'user', ...args, '--data-dir', dataDir], {
    terminal: createTerminal(into('out'), into('err')),
    env: {},
    cwd: dataDir,
  });
  return { code, ...said };
}

async function json<Shape>(...args: string[]): Promise<Shape> {
  const { code, out, err } = await kr(...args, '--json');
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as Shape;
}

interface Created {
  user: string;
  token: string;
  token_id: string;
  expires_at: string | null;
}

/** The statuses and codes of a request to each gateway. */
function statuses(token: string): Promise<unknown[]> {
  return Promise.all(
    system.baseUrls.map(async (baseUrl) => {
      const { status, body } = await httpClient(baseUrl, token).call<{ code?: string }>(
        'GET',
        '/user/records',
      );
      return body.code === undefined ? status : `${status} ${body.code}`;
    }),
  );
}

const onAll = (answer: unknown) => system.baseUrls.map(() => answer);

test('an operator disables a user: all gateways refuse the next request, until the user is enabled', async () => {
  const { token } = await json<Created>('create', 'ada');
  expect(system.baseUrls.length).toBeGreaterThan(1);
  expect(await statuses(token)).toEqual(onAll(200));
  expect(await kr('disable', 'ada')).toEqual({ code: 0, out: '', err: 'User ada is disabled.\n' });
  expect(await statuses(token)).toEqual(onAll('401 user_disabled'));
  const write = await httpClient(system.baseUrl, token).call<{ message: string }>('POST', '/records', {
    json: recordDocument('By a disabled user'),
  });
  expect([write.status, write.body.message]).toEqual([401, 'The user is disabled.']);
  const users = await json<{ user: string; disabled_at: string | null }[]>('list');
  expect(users.find(({ user }) => user === 'ada')?.disabled_at).toEqual(expect.any(String));
  expect(await kr('enable', 'ada')).toMatchObject({ code: 0, err: 'User ada is enabled.\n' });
  expect(await statuses(token)).toEqual(onAll(200));
  expect((await kr('audit-log', 'ada')).out).toMatch(
    /user\.enable[\s\S]*user\.disable[\s\S]*token\.create[\s\S]*user\.create/,
  );
});

test('an operator lists and revokes tokens of a user', async () => {
  const first = await json<Created>('create', 'bob');
  const second = await json<Created>('create', 'bob', '--token');
  expect((await kr('tokens', 'bob')).out).toContain(first.token_id);
  expect((await json<{ id: string }[]>('tokens', 'bob')).map(({ id }) => id)).toEqual([
    second.token_id,
    first.token_id,
  ]);
  expect(await json('revoke-token', 'bob', first.token_id)).toEqual({ revoked: [first.token_id] });
  expect(await statuses(first.token)).toEqual(onAll('401 invalid_token'));
  expect(await statuses(second.token)).toEqual(onAll(200));
  expect((await kr('revoke-token', 'bob', first.token_id)).err).toContain('bob has no such token');
  expect(await kr('revoke-token', 'bob', '--all')).toMatchObject({
    code: 0,
    err: '1 tokens of bob revoked.\n',
  });
  expect(await statuses(second.token)).toEqual(onAll('401 invalid_token'));
});

test('a token of an operator expires after 365 days, unless another lifetime is chosen', async () => {
  const days = ({ expires_at }: Created) =>
    expires_at === null ? null : Math.round((Date.parse(expires_at) - Date.now()) / 86_400_000);
  expect(days(await json<Created>('create', 'eva'))).toBe(365);
  expect(days(await json<Created>('create', 'eva', '--token', '--expires', '30d'))).toBe(30);
  expect(days(await json<Created>('create', 'eva', '--token', '--expires', 'never'))).toBeNull();
  expect((await kr('create', 'eva', '--token')).out).toMatch(/^expires_at +20\d\d-/m);
});

test.each<[args: string[], code: number, err: string]>([
  [['create', 'tester'], 1, 'The name tester is taken.'],
  [['create', 'a b'], 1, 'Use 1 to 64 letters, digits or any of . _ - @'],
  [['create', 'zoe', '--expires', 'soon'], 2, 'Expected a number with a unit'],
  [['create', 'zoe', '--expires', '0d'], 1, '--expires'],
  [['create', 'zoe', '--expires', '36501d'], 1, 'Use 0 to 36500 days.'],
  [['disable', 'unknown'], 1, 'No user has the name unknown.'],
  [['tokens', 'unknown'], 1, 'No user has the name unknown.'],
  [['revoke-token', 'tester'], 1, 'Pass the ids of tokens, or --all.'],
  [['revoke-token', 'tester', '--all', 'x'], 1, 'Pass the ids of tokens, or --all.'],
  [['revoke-token', 'tester', 'x'], 1, 'Not the id of a token.'],
])('kr admin user %j is refused', async (args, code, err) => {
  const answer = await kr(...args);
  expect([answer.code, answer.out]).toEqual([code, '']);
  expect(answer.err).toContain(err);
});

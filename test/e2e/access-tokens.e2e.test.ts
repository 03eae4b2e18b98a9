import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import { run } from '../../clients/kr/src/run.ts';
import { createTerminal } from '../../clients/kr/src/terminal/terminal.ts';
import type { Entity } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { httpClient } from './story/http-client.ts';
import { link } from './story/stories.ts';

let system: SharedSystem;
beforeAll(async () => {
  system = await sharedSystem();
});
afterAll(() => system?.stop());

/** The output of `kr token` for the user of a token, on another machine. */
async function kr(args: string[], token = system.token): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' };
  const into = (name: keyof typeof said) => ({
    write: (text: string) => {
      said[name] += text;
    },
  });
  const code = await run(['token', ...args, '--base-url', system.baseUrl, '--token', token], {
    terminal: createTerminal(into('out'), into('err')),
    env: {},
    cwd: dirname(system.logDir),
  });
  return { code, ...said };
}

interface Made {
  id: string;
  token: string;
}

async function made(...args: string[]): Promise<Made> {
  const { code, out, err } = await kr(['create', ...args, '--json']);
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as Made;
}

const json = recordDocument('By a token');

describe('an access token', () => {
  test('writes but does not publish where it is made to write', async () => {
    const { token } = await made('writer', '--scope', 'write');
    const writer = httpClient(system.baseUrl, token);
    const draft = await writer.sure<Entity>('POST', '/records', { json });
    const refused = await writer.call<{ code: string; message: string }>('POST', link(draft, 'publish'));
    expect([refused.status, refused.body.code, refused.body.message]).toEqual([
      403,
      'insufficient_scope',
      'The access token lacks the scope publish.',
    ]);
    const whole = httpClient(system.baseUrl, system.token);
    expect((await whole.call('POST', link(draft, 'publish'))).status).toBe(202);
  });

  test('only reads, what its user may read, where it is made for nothing else', async () => {
    const maker = await made('maker', '--scope', 'tokens');
    const { out } = await kr(['create', 'reader', '--json'], maker.token);
    const reader = httpClient(system.baseUrl, (JSON.parse(out) as Made).token);
    const author = httpClient(system.baseUrl, system.token);
    const draft = await author.sure<Entity>('POST', '/records', { json });
    const changes = [
      await reader.call('POST', '/records', { json }),
      await reader.call('PUT', link(draft, 'self'), { json }),
      await reader.call('DELETE', link(draft, 'self')),
      await reader.call('POST', link(draft, 'access_links'), { json: { permission: 'view' } }),
      await reader.call('POST', '/user/tokens', { json: { name: 'more' } }),
    ];
    expect(changes.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
    expect((await reader.sure<Entity>('GET', link(draft, 'self'))).revision_id).toBe(draft.revision_id);
    const own = await reader.sure<{ hits: { hits: Entity[] } }>('GET', '/user/records?sort=newest');
    expect(own.hits.hits.map(({ id }) => id)).toContain(draft.id);
  });
});

describe('kr token', () => {
  test('prints a new token alone, lists it without it, and ends it', async () => {
    const { out, err } = await kr([
      'create',
      'for a script',
      '--scope',
      'write',
      'publish',
      '--expires',
      '12h',
    ]);
    const token = out.trim();
    expect([/^kpat_\w{38}$/.test(token), err]).toEqual([true, 'Save it now: it is not shown again.\n']);
    const user = httpClient(system.baseUrl, token);
    expect((await user.call('GET', '/user')).status).toBe(200);

    const listed = (await kr(['list'])).out;
    const row = listed.split('\n').find((line) => line.includes('for a script')) ?? '';
    const [id = '', ...rest] = row.split(/ {2,}/);
    expect(rest.slice(0, 2)).toEqual(['for a script', 'read,write,publish']);
    expect(rest.slice(2).every((time) => /^20\d\d-\d\d-\d\dT/.test(time))).toBe(true);
    expect(listed).not.toContain('kpat_');

    expect((await kr(['revoke', id])).code).toBe(0);
    await until(async () => (await user.call('GET', '/user')).status === 401);
    expect((await kr(['list'])).out).not.toContain('for a script');
  });

  test.each([
    [['create', 'x', '--scope', 'everything'], 2, 'Allowed choices are write, publish, tokens, admin.'],
    [['create', 'x', '--expires', 'soon'], 2, 'Expected a number with a unit'],
    [['create', ''], 1, 'A name of 1 to 100 characters is required, none of them a control character.'],
    [['create', 'x', '--scope', 'publish', '--expires', 'never'], 0, ''],
    [['create', 'x', '--scope', 'admin'], 1, 'The token of this request lacks the scope.'],
    [['revoke', 'nothing'], 1, 'No such token.'],
  ])('%j', async (args, code, said) => {
    const answer = await kr(args);
    expect([answer.code, answer.err.includes(said)]).toEqual([code, true]);
  });
});

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import pg from 'pg';
import type { Entity, FilesListing, Listing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type Answer, type HttpClient, httpClient } from './story/http-client.ts';
import { link } from './story/stories.ts';

let system: SharedSystem;
let author: HttpClient;
let records: pg.Client;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  records = new pg.Client(system.databaseUrls.records);
  await records.connect();
});
afterAll(async () => {
  await records?.end();
  await system?.stop();
});

async function draftCount(): Promise<number> {
  const { rows } = await records.query<{ count: string }>('select count(*) from draft');
  return Number(rows[0]?.count);
}

function create(key: string, title: string): Promise<Answer<Entity>> {
  return author.call<Entity>('POST', '/records', {
    json: recordDocument(title),
    headers: { 'idempotency-key': key },
  });
}

const KINDS = [
  ['records', recordDocument],
  ['packages', packageDocument],
] as const;

/** Holds the row of a key whose request is being executed, so that its answer cannot be stored. */
const UNANSWERED = 'select hash from idempotency_key where status is null for update';
const DRAFTED = "select id from draft where document ->> 'metadata' like $1";

async function openTransaction(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('begin');
  return client;
}

/** Kills the gateway when a request has changed the table, and before its answer is stored. */
async function dieBeforeTheAnswer(
  database: 'records' | 'packages' | 'files',
  table: string,
  send: () => Promise<unknown>,
  isMade: (making: pg.Client) => Promise<boolean>,
): Promise<void> {
  const [making, answering] = await Promise.all([
    openTransaction(system.databaseUrls[database]),
    openTransaction(system.databaseUrls.gateway),
  ]);
  await making.query(`lock table ${table} in share mode`);
  const first = send().catch(() => undefined);
  await until(async () => (await answering.query(UNANSWERED)).rowCount === 1);
  await making.query('commit');
  await until(() => isMade(making));
  system.kill('gateway', 'SIGKILL');
  await first;
  await Promise.all([answering.end(), making.end()]);
}

/** As a careful client does: the same request again until it is answered. */
async function insist<Body>(send: () => Promise<Answer<Body>>): Promise<Answer<Body>> {
  let answer: Answer<Body> | undefined;
  await until(async () => {
    answer = await send().catch(() => undefined);
    return answer !== undefined && answer.status !== 409 && answer.status < 500;
  });
  if (answer === undefined) throw new Error('never answered');
  return answer;
}

describe('a request with an idempotency key', () => {
  test('that is sent fifty times at once makes one draft', async () => {
    const before = await draftCount();
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 50 }, () => create(key, 'Once')));
    const ids = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id));
    expect([ids.size, (await draftCount()) - before]).toEqual([1, 1]);
    expect(answers.map(({ status }) => status).filter((status) => status !== 201 && status !== 409)).toEqual(
      [],
    );
  });

  test('publishes once, however often it is sent', async () => {
    const draft = await author.sure<Entity>('POST', '/packages', { json: packageDocument('Published once') });
    const send = () =>
      author.call<Entity>('POST', link(draft, 'publish'), { headers: { 'idempotency-key': 'publish it' } });
    const first = await send();
    const again = await send();
    expect([first.status, again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([
      202,
      202,
      first.text,
      'true',
    ]);
  });

  test('is refused again when it was refused, though what was wrong is mended; a new key is a new try', async () => {
    const wrong = recordDocument('', {});
    const draft = await author.sure<Entity>('POST', '/records', { json: wrong });
    const send = (key: string) =>
      author.call<Entity>('POST', link(draft, 'publish'), { headers: { 'idempotency-key': key } });
    const key = randomUUID();
    const first = await send(key);
    await author.sure('PUT', link(draft, 'self'), { json: recordDocument('Mended') });
    const again = await send(key);
    const anew = await send(randomUUID());
    expect([first.status, again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([
      400,
      400,
      first.text,
      'true',
    ]);
    expect(anew.status).toBe(202);
  });

  test('is answered, and then always the same, although the gateway dies under it', async () => {
    const before = await draftCount();
    const keys = Array.from({ length: 40 }, () => randomUUID());
    const firsts = Promise.allSettled(keys.map((key) => create(key, 'Insisted on')));
    await until(async () => (await draftCount()) > before + 3);
    system.kill('gateway', 'SIGKILL');
    const heard = (await firsts).map((outcome) =>
      outcome.status === 'fulfilled' && outcome.value.status === 201 ? outcome.value.body.id : undefined,
    );
    const answers = await Promise.all(keys.map((key) => insist(() => create(key, 'Insisted on'))));
    const repeats = await Promise.all(keys.map((key) => insist(() => create(key, 'Insisted on'))));
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 201));
    expect(repeats.map(({ body }) => body.id)).toEqual(answers.map(({ body }) => body.id));
    // A client that received an answer receives it again.
    expect(heard.filter((id, index) => id !== undefined && id !== answers[index]?.body.id)).toEqual([]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(40);
    expect((await draftCount()) - before).toBe(40);
  });

  test.each(KINDS)(
    'makes one of the %s, although the gateway dies between the making and the answer',
    async (kind, document) => {
      const key = randomUUID();
      const send = () =>
        author.call<Entity>('POST', `/${kind}`, {
          json: document(`Made once, in ${kind}`),
          headers: { 'idempotency-key': key },
        });
      const count = async () => (await author.sure<Listing>('GET', `/user/${kind}`)).hits.total;
      const before = await count();
      await dieBeforeTheAnswer(kind, 'draft', send, async (making) => {
        return (await making.query(DRAFTED, [`%Made once, in ${kind}%`])).rowCount === 1;
      });

      const answers = [await insist(send), await insist(send)];
      expect(answers.map(({ status }) => status)).toEqual([201, 201]);
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
      await until(async () => (await count()) > before);
      expect((await count()) - before).toBe(1);
    },
  );

  test('adds a file once, although the gateway dies between the making and the answer', async () => {
    const json = recordDocument('With a file', { withFiles: true });
    const draft = await author.sure<Entity>('POST', '/records', { json });
    const headers = { 'idempotency-key': randomUUID() };
    const send = () =>
      author.call<FilesListing>('POST', link(draft, 'files'), { json: [{ key: 'once.txt' }], headers });
    await dieBeforeTheAnswer('files', 'entry', send, async (making) => {
      const found = await making.query('select from entry where entity_id = $1', [draft.id]);
      return found.rowCount === 1;
    });
    const answers = [await insist(send), await insist(send)];
    expect(answers.map(({ status, body }) => [status, body.entries.map(({ key }) => key)])).toEqual([
      [201, ['once.txt']],
      [201, ['once.txt']],
    ]);
  });
});

test('an answer is not replayed to a request with other access links', async () => {
  const restricted = recordDocument('Shared', { access: { record: 'restricted', files: 'restricted' } });
  const draft = await author.sure<Entity>('POST', '/records', { json: restricted });
  const record = await author.sure<Entity>('POST', link(draft, 'publish'));
  const shared = await author.sure<{ id: string; token: string }>('POST', link(record, 'access_links'), {
    json: { permission: 'edit' },
  });
  const stranger = httpClient(system.baseUrl, (await system.createUser('stranger')).token);
  const headers = { 'idempotency-key': randomUUID() };
  const edit = (query = '') =>
    stranger.call<Entity>('POST', `/records/${record.id}/draft${query}`, { headers });
  expect((await edit()).status).toBe(403);
  expect((await edit(`?token=${shared.token}`)).status).toBe(201);
  await author.sure('DELETE', `${link(record, 'access_links')}/${shared.id}`);
  expect((await edit(`?token=${shared.token}`)).status).toBe(403);
});

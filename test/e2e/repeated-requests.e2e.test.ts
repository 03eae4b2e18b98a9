import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import pg from 'pg';
import type { Entity } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type Answer, type HttpClient, httpClient } from './story/http-client.ts';
import { link } from './story/stories.ts';

let system: TestSystem;
let author: HttpClient;
let records: pg.Client;
beforeAll(async () => {
  system = await startSystem();
  author = httpClient(system.baseUrl, system.token);
  records = new pg.Client(system.databaseUrls.records);
  await records.connect();
}, 90_000);
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

/** As a careful client does: the same request again until it is answered. */
async function insist(send: () => Promise<Answer<Entity>>): Promise<Answer<Entity>> {
  let answer: Answer<Entity> | undefined;
  await until(
    async () => {
      answer = await send().catch(() => undefined);
      return answer !== undefined && answer.status !== 409 && answer.status < 500;
    },
    { timeoutMs: 40_000 },
  );
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

  test('is answered, and then always the same, although the gateway dies under it', async () => {
    const before = await draftCount();
    const keys = Array.from({ length: 40 }, () => randomUUID());
    const firsts = Promise.allSettled(keys.map((key) => create(key, 'Insisted on')));
    await until(async () => (await draftCount()) > before + 3, { timeoutMs: 5_000 });
    system.kill('gateway', 'SIGKILL');
    const heard = (await firsts).map((outcome) =>
      outcome.status === 'fulfilled' && outcome.value.status === 201 ? outcome.value.body.id : undefined,
    );
    const answers = await Promise.all(keys.map((key) => insist(() => create(key, 'Insisted on'))));
    const repeats = await Promise.all(keys.map((key) => insist(() => create(key, 'Insisted on'))));
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 201));
    expect(repeats.map(({ body }) => body.id)).toEqual(answers.map(({ body }) => body.id));
    // Whoever heard an answer hears it again.
    expect(heard.filter((id, index) => id !== undefined && id !== answers[index]?.body.id)).toEqual([]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(40);
    // Only what was being done at the moment of the crash may have been done twice.
    const extra = (await draftCount()) - before - 40;
    expect(extra).toBeLessThanOrEqual(heard.filter((id) => id === undefined).length);
  }, 90_000);
});

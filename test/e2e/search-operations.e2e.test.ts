import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { Client } from 'pg';
import { arm } from '../faults/kill/armed-part.ts';
import type { Entity, Listing } from './story/answers.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { adminCommand } from './story/operator-command.ts';
import { useSearchTables } from './story/search-tables.ts';
import { link, packageOfResources, publish, publishedRecord } from './story/stories.ts';

const PATIENT = { timeoutMs: 120_000, everyMs: 100 };

let system: TestSystem;
let author: HttpClient;
let index: Client;
let records: Entity[];
beforeAll(async () => {
  system = await startSystem();
  author = httpClient(system.baseUrl, system.token);
  index = new Client({ connectionString: system.databaseUrls.search });
  index.on('error', () => {});
  await index.connect();
  records = [];
  for (let n = 0; n < 4; n += 1) records.push(await publishedRecord(author, `Indexed ${n}`));
  await publish(author, (await packageOfResources(author, 'Indexed together', 2)).main);
  await until(async () => (await found('title:indexed')) === 7, PATIENT);
  await until(async () => (await status()).is_filled, PATIENT);
  await useSearchTables(index);
});
afterAll(async () => {
  await index?.end();
  await system?.stop();
});

const found = async (q: string) =>
  (await author.sure<Listing>('GET', `/search?q=${encodeURIComponent(q)}`)).hits.total;

const kr = (...args: string[]) => adminCommand(system, 'search', ...args);

async function json<Shown>(...args: string[]): Promise<Shown & { code: number }> {
  const { code, out, err } = await kr(...args, '--json');
  if (out === '') throw new Error(err);
  return { ...JSON.parse(out), code };
}

interface Status {
  engine: string;
  documents: number;
  is_filled: boolean;
  pending_events: number;
  oldest_pending_at: string | null;
  dead_letters: number;
  reindex: { ended_at: string | null; documents: number; expected: number; problem: string | null } | null;
  drift: Drift | null;
}
interface Drift {
  entities: number;
  missing: number;
  stale: number;
  ghosts: number;
  repaired: number;
  forms: { kind: string; id: string; is_draft: boolean; problem: string }[];
}
const status = () => json<Status>('status');
/** Refused while events are on their way for longer than a comparison waits. */
const compared = (command: 'drift' | 'repair') => until(() => json<Drift>(command), PATIENT);

describe('kr admin search', () => {
  test('status shows the engine and the delay of the index', async () => {
    const shown = await until(async () => {
      const now = await status();
      return now.pending_events === 0 ? now : undefined;
    }, PATIENT);
    // The filling of the new, empty index.
    expect(shown).toMatchObject({
      code: 0,
      engine: 'postgres',
      documents: 7,
      is_filled: true,
      pending_events: 0,
      oldest_pending_at: null,
      dead_letters: 0,
      reindex: { documents: 0, ended_at: expect.any(String), problem: null },
      drift: null,
    });
    const { out } = await kr('status');
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['engine', 'postgres'],
      ['documents', '7'],
      ['filled', 'yes'],
      ['events pending', '0'],
      ['dead letters', '0'],
      ['reindex', expect.stringMatching(/./)],
      ['drift check', 'none yet'],
      [''],
    ]);
  });

  test('status shows how many events wait to be indexed, and since when', async () => {
    const before = Date.now();
    await index.query('begin');
    await index.query('lock table index_box in access exclusive mode');
    try {
      await author.sure('POST', link(records[0] as Entity, 'draft'));
      const waiting = await until(async () => {
        const now = await status();
        return now.pending_events > 0 ? now : undefined;
      }, PATIENT);
      expect(Date.parse(waiting.oldest_pending_at ?? '')).toBeGreaterThan(before - 1_000);
      expect((await kr('status')).out).toMatch(/events pending +\d+, the oldest \S+.* old/);
    } finally {
      await index.query('rollback');
    }
    await until(async () => (await status()).pending_events === 0, PATIENT);
  });

  test('drift is found and mended', async () => {
    const [one, other] = records as [Entity, Entity];
    expect(await compared('drift')).toMatchObject({
      code: 0,
      entities: 7,
      missing: 0,
      stale: 0,
      ghosts: 0,
    });
    await index.query(`delete from index_document where id = $1 and form = 'published'`, [one.id]);
    await index.query(`update index_document set content_hash = '', revision = 1 where id = $1`, [other.id]);
    await index.query(
      `insert into index_document (id, form, kind, parent_id, owner_id, record_access, version_index, created_at,
         updated_at, revision)
       values ('ghost-12345', 'published', 'package', 'p', '1', 'public', 1, now(), now(), 1)`,
    );
    const spoilt = { missing: 1, stale: 1, ghosts: 1, repaired: 0 };
    expect(await compared('drift')).toMatchObject({ code: 1, ...spoilt });
    await expect(system.assertNoDrift()).rejects.toThrow(
      new RegExp(`differs from the services: .*missing record ${one.id}`),
    );
    expect(await compared('repair')).toMatchObject({ code: 0, ...spoilt, repaired: 3 });
    expect((await kr('drift')).out).toMatch(/^no drift; 7 entities compared, /);
    expect((await status()).drift).toMatchObject({ missing: 0, stale: 0, ghosts: 0 });
    expect(await found(`id:"${one.id}"`)).toBe(1);
  });

  test('reindex goes on after the service was killed in the middle, and loses no hit', async () => {
    const packages = new Client({ connectionString: system.databaseUrls.packages });
    await packages.connect();
    const totals = new Set<number>();
    let isOver = false;
    const searching = (async () => {
      while (!isOver) {
        const answer = await author.call<Listing>('GET', '/records?q=title:indexed');
        // Away for a moment, when it is killed; never anything else.
        totals.add(
          answer.status === 503 ? 6 : answer.status === 200 ? answer.body.hits.total : answer.status,
        );
        await sleep(50);
      }
    })();
    try {
      await packages.query('begin');
      await packages.query('lock table version in access exclusive mode');
      expect((await kr('reindex', '--no-wait')).code).toBe(0);
      await until(async () => Number((await status()).reindex?.documents) > 0, PATIENT);
      const again = await kr('reindex');
      expect({ code: again.code, err: again.err.trim() }).toEqual({
        code: 1,
        err: expect.stringContaining('The index is being built already.'),
      });
      const killed = system.pid('search');
      system.kill('search', 'SIGKILL');
      await until(() => system.pid('search') !== killed && system.pid('search') !== undefined, PATIENT);
      await until(async () => (await kr('status')).code === 0, PATIENT);
      expect((await status()).reindex).toMatchObject({ ended_at: null });
    } finally {
      await packages.end();
    }
    const done = await until(async () => {
      const { reindex } = await status();
      return reindex?.ended_at ? reindex : undefined;
    }, PATIENT);
    isOver = true;
    await searching;
    expect([...totals]).toEqual([6]);
    expect(done.documents).toBeGreaterThanOrEqual(7);
    expect(await compared('drift')).toMatchObject({ code: 0, missing: 0, stale: 0, ghosts: 0 });
    const whole = await kr('reindex');
    expect(whole.out).toMatch(/^\d+ documents, finished \S+ after /);
  });

  test('reindex of a service that is killed before it could note the end is not done again', async () => {
    const build = async () =>
      (await index.query(`select report->>'build' as build from index_operation where name = 'reindex'`))
        .rows[0].build as string;
    const before = await build();
    const armed = await arm(system, 'search', 'reindex.note.before:kill');
    await until(async () => (await kr('reindex', '--no-wait')).code === 0, PATIENT);
    await until(() => armed.haveDiedAt(['reindex.note.before']), PATIENT);
    const built = await build();
    expect(built).not.toBe(before);
    await until(async () => (await status()).reindex?.ended_at, PATIENT);
    expect(await build()).toBe(built);
    expect(await compared('drift')).toMatchObject({ code: 0, missing: 0, stale: 0, ghosts: 0 });
  });

  test('a document that is too large or malformed is left out of the index, and nothing else is', async () => {
    const [, , large, malformed] = records as [Entity, Entity, Entity, Entity];
    const database = new Client({ connectionString: system.databaseUrls.records });
    await database.connect();
    try {
      await database.query(
        `update version set document = jsonb_set(document, '{metadata,description}', to_jsonb(repeat('x', 20000000)))
         where id = $1`,
        [large.id],
      );
      await database.query(`update version set document = '{}' where id = $1`, [malformed.id]);
    } finally {
      await database.end();
    }
    const { code, out } = await kr('reindex');
    expect([code, out]).toEqual([0, expect.stringMatching(/; 2 entities or documents were omitted/)]);
    expect(await found('title:indexed')).toBe(5);
    expect(await compared('drift')).toMatchObject({ code: 0, missing: 0, ghosts: 0, unreadable: 2 });
    expect((await kr('drift')).out).toMatch(/, 2 cannot be read \(see the log of the search service\), /);
  });
});

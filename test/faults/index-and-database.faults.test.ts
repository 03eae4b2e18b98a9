import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { oneOf, seededRandom, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { Client } from 'pg';
import type { Entity, Listing } from '../e2e/story/answers.ts';
import { recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, oneTryClient } from '../e2e/story/http-client.ts';
import { adminCommand } from '../e2e/story/operator-command.ts';
import { insistentClient } from '../e2e/story/persistent-client.ts';
import { useSearchTables } from '../e2e/story/search-tables.ts';
import { link, packageOfResources, publish, publishedRecord } from '../e2e/story/stories.ts';
import { openStream, type Stream } from './republished-events.ts';
import { scaled, seed } from './scale.ts';

/** Each makes about four events. */
const LIVES = scaled(24, 2_500);
const AUTHORS = 4;
const COPIES = 3;
/** Actions while a part is unavailable. */
const CHANGES = scaled(3, 100);
const LONG = scaled(300_000, 3_600_000);

let system: TestSystem;
let author: HttpClient;
let stream: Stream;
let index: Client;
beforeAll(async () => {
  system = await startSystem({ proxied: ['search to postgres'] });
  author = insistentClient(oneTryClient(system.baseUrl, system.token));
  stream = await openStream(system.natsUrl);
  index = new Client({ connectionString: system.databaseUrls.search });
  await index.connect();
  await until(
    async () => (await adminCommand(system, 'search', 'status')).out.includes('filled          yes'),
    {
      what: 'the index',
    },
  );
});
afterAll(async () => {
  await index?.end();
  await stream?.close();
  await system?.stop();
});

interface Drift {
  missing: number;
  stale: number;
  ghosts: number;
  repaired: number;
}

/** Expected hits once the events have arrived. */
async function drift(command: 'drift' | 'repair' = 'drift'): Promise<Drift> {
  const said = await until(
    async () => {
      const { out } = await adminCommand(system, 'search', command, '--json');
      return out === '' ? undefined : out;
    },
    { timeoutMs: LONG / 2, what: 'a comparison' },
  );
  const { missing, stale, ghosts, repaired } = JSON.parse(said) as Drift;
  return { missing, stale, ghosts, repaired };
}
const NONE: Drift = { missing: 0, stale: 0, ghosts: 0, repaired: 0 };

/** All documents in the index, with their search terms. */
async function found(): Promise<string> {
  await useSearchTables(index);
  const { rows } = await index.query<{ found: string }>(
    `select md5(string_agg(to_jsonb(d)::text, '|' order by id, form)) as found
     from index_document d where deleted_at is null`,
  );
  return rows[0]?.found ?? '';
}

/** Drafts, editions, publications and deletions of one entity. */
async function live(n: number, random: () => number): Promise<void> {
  if (n % 8 === 0) {
    await publish(author, (await packageOfResources(author, `Package ${n}`, 2)).main);
    return;
  }
  const draft = await author.sure<Entity>('POST', '/records', { json: recordDocument(`Life ${n}`) });
  await author.sure('PUT', link(draft, 'self'), { json: recordDocument(`Life ${n}, edited`) });
  const end = oneOf(random, ['draft', 'deleted', 'published', 'edited', 'discarded'] as const);
  if (end === 'deleted') await author.sure('DELETE', link(draft, 'self'));
  if (end === 'draft' || end === 'deleted') return;
  const published = await publish(author, draft);
  if (end === 'published') return;
  const edition = await author.sure<Entity>('POST', link(published, 'draft'));
  await author.sure('PUT', link(edition, 'self'), { json: recordDocument(`Life ${n}, edited again`) });
  if (end === 'discarded') await author.sure('DELETE', link(edition, 'self'));
}

async function liveAll(count: number, random: () => number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => n).values();
  await Promise.all(
    Array.from({ length: AUTHORS }, async () => {
      for (const n of numbers) await live(n, random);
    }),
  );
}

/** Cuts the search service off from its database, until the returned function is called. */
function takeAway(): () => void {
  const proxy = system.proxy('search to postgres');
  const giveBack = proxy.inflict({ kind: 'refuse' });
  proxy.reset();
  return giveBack;
}

/** The bus after a restart with an empty store. */
async function loseStore(): Promise<void> {
  await stream.lose();
  const pid = system.pid('nats');
  system.kill('nats', 'SIGKILL');
  await until(() => ![undefined, pid].includes(system.pid('nats')), { what: 'the bus' });
}

test(
  `the index equals the databases, for repeated and reordered events (seed ${seed})`,
  async () => {
    const random = seededRandom(seed);
    await liveAll(LIVES, random);
    await stream.consumed();
    const before = await found();
    const sent = await stream.sendShuffled(COPIES, random);
    await stream.consumed();
    expect({ wereMany: sent >= COPIES * 3 * LIVES, found: await found(), drift: await drift() }).toEqual({
      wereMany: true,
      found: before,
      drift: NONE,
    });
  },
  LONG,
);

test(
  'while the database of the search is away all else goes on, and then it catches up',
  async () => {
    const giveBack = takeAway();
    const made: Entity[] = [];
    try {
      for (let n = 0; n < CHANGES; n += 1) {
        const entity = await publishedRecord(author, `Made without an index ${n}`);
        made.push(entity);
        await author.sure('GET', `/records/${entity.id}`);
        expect((await author.call('GET', '/search?q=index')).status).toBe(503);
      }
    } finally {
      giveBack();
    }
    const q = encodeURIComponent(made.map(({ id }) => `id:"${id}"`).join(' OR '));
    await until(
      async () => {
        const { status, body } = await author.call<Listing>('GET', `/search?q=${q}`);
        return status === 200 && body.hits.total === made.length;
      },
      { timeoutMs: LONG / 2, what: 'all created documents' },
    );
    expect(await drift()).toEqual(NONE);
  },
  LONG,
);

test(
  'events lost by the bus are sent again, and events that no service has any more are detected by a comparison and repaired',
  async () => {
    const losing = async (title: string, lose: () => Promise<void>) => {
      await stream.consumed();
      const giveBack = takeAway();
      try {
        for (let n = 0; n < CHANGES; n += 1) await publishedRecord(author, `${title} ${n}`);
        await lose();
      } finally {
        giveBack();
      }
    };
    const foundOf = async (title: string) =>
      (await author.sure<Listing>('GET', `/search?q=${encodeURIComponent(`title:"${title}"`)}`)).hits.total;

    await losing('Sent again', loseStore);
    await until(async () => (await foundOf('Sent again')) === CHANGES, {
      timeoutMs: LONG / 2,
      what: 'what was sent again',
    });
    expect(await drift()).toEqual(NONE);

    await losing('Lost permanently', async () => {
      for (const url of [system.databaseUrls.records, system.databaseUrls.packages]) {
        const sender = new Client({ connectionString: url });
        await sender.connect();
        // Not what is still to be sent: that is not lost.
        await until(
          async () => (await sender.query('select from outbox where published_at is null')).rowCount === 0,
        );
        await sender.query('delete from outbox');
        await sender.end();
      }
      await loseStore();
    });
    expect(await drift()).toEqual({ ...NONE, missing: CHANGES });
    expect(await drift('repair')).toEqual({ ...NONE, missing: CHANGES, repaired: CHANGES });
    expect(await foundOf('Lost permanently')).toBe(CHANGES);
    expect(await drift()).toEqual(NONE);
  },
  LONG,
);

import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { migrate } from '@kr/schema-migration';
import { ServiceError } from '@kr/service-error';
import { createLogger } from '@kr/telemetry';
import { type FreshDatabase, freshDatabase, until } from '@kr/testbed';
import pg from 'pg';
import { givingWay } from '../consume/give-way.ts';
import { refreshFormer } from '../consume/refresh-former.ts';
import { postgresEngine } from '../engine/postgres/postgres-engine.ts';
import type { SearchEngine } from '../engine/search-engine.ts';
import { aSearch, idsOf } from '../engine/testing/a-search.ts';
import { anEntity } from '../engine/testing/an-entity.ts';
import { SEARCH_MIGRATIONS } from '../migrations.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { createBell, keepReindexing } from './keep-reindexing.ts';
import { operationLog } from './operation-log.ts';

const IDS = ['a', 'b', 'c', 'd', 'e'];
const logger = createLogger('test', new Writable({ write: (_chunk, _encoding, done) => done() }));

/** Records in pages of two; `onList` is told after which id a page is asked for. */
function pagesOfTwo(onList: (afterId: string) => unknown = () => {}): EntitySource {
  return {
    fetch: async (_kind, ids) => ids.map((id) => anEntity({ id })),
    list: async (kind, afterId) => {
      await onList(afterId);
      return kind === 'record' ? IDS.filter((id) => id > afterId).slice(0, 2) : [];
    },
  };
}

/** A published form as every release has known it. */
async function insertOlder(databaseUrl: string, id: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(
      `INSERT INTO index_document
         (id, form, kind, parent_id, owner_id, record_access, version_index, created_at, updated_at, revision)
       VALUES ($1, 'published', 'record', 'parent-of-' || $1, 'owner', 'public', 1, now(), now(), 1)`,
      [id],
    );
  } finally {
    await client.end();
  }
}

/** A published form as the former release writes it, with these facets. */
async function writeFormer(
  databaseUrl: string,
  { id, revision, facets }: { id: string; revision: number; facets: string[] },
): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(
      `INSERT INTO index_document AS d
         (id, form, kind, parent_id, owner_id, record_access, version_index, created_at, updated_at, revision, facets,
          is_announced)
       VALUES ($1, 'published', 'record', 'parent-of-' || $1, 'owner', 'public', 1, now(), now(), $2, $3, false)
       ON CONFLICT (id, form) DO UPDATE SET
         revision = excluded.revision, updated_at = excluded.updated_at, facets = excluded.facets, deleted_at = NULL
       WHERE excluded.revision > d.revision OR (excluded.revision = d.revision AND d.deleted_at IS NULL)`,
      [id, revision, facets],
    );
    await client.query('UPDATE index_document SET is_announced = true, is_latest = true WHERE id = $1', [id]);
  } finally {
    await client.end();
  }
}

describe('filling the index', () => {
  let database: FreshDatabase;
  let engine: SearchEngine & { stop(): Promise<void> };
  let engineUrl: string;
  let pool: pg.Pool;
  const open = () =>
    postgresEngine({ databaseUrl: database.url, searchTimeoutMs: 60_000, maxConnections: 2 });
  beforeEach(async () => {
    database = await freshDatabase();
    await migrate({ databaseUrl: database.url, sets: [SEARCH_MIGRATIONS] });
    engine = open();
    engineUrl = database.url;
    pool = new pg.Pool({ connectionString: engineUrl, max: 1 });
    pool.on('error', () => {});
  });
  afterEach(async () => {
    await Promise.all([engine.stop(), pool.end()]);
    await database.drop();
  });
  const found = async () => idsOf(await engine.search(aSearch())).sort();
  /** As a process does that ends at the signal, or when the index is filled. */
  const fill = async (
    source: EntitySource,
    signal = new AbortController().signal,
    hasArrived = async () => true,
    filling: SearchEngine = engine,
  ) => {
    const over = new AbortController();
    const stopping = AbortSignal.any([signal, over.signal]);
    const shared = { databaseUrl: engineUrl, log: operationLog(pool), hasArrived, logger };
    const working = keepReindexing(
      { ...givingWay(filling, 50, stopping), ...shared, source },
      createBell(),
      stopping,
    );
    await until(async () => signal.aborted || (await engine.isFilled()));
    over.abort();
    await working;
  };

  test('is not over after a stop in the middle', async () => {
    const stopping = new AbortController();
    await fill(
      pagesOfTwo((afterId) => afterId === 'b' && stopping.abort()),
      stopping.signal,
    );
    expect([await engine.isFilled(), await found()]).toEqual([false, []]);
    await fill(pagesOfTwo());
    expect(await found()).toEqual(IDS);
  });

  test('goes on without what the engine refuses, and stays unfilled where it refuses all', async () => {
    const refusing = (isRefused: (id: string) => boolean): EntitySource => ({
      ...pagesOfTwo(),
      // The database has no such form.
      fetch: async (_kind, ids) =>
        ids.map((id) => ({ ...anEntity({ id }), ...(isRefused(id) ? { form: 'odd' as 'draft' } : {}) })),
    });
    const stopping = new AbortController();
    const failing: EntitySource = {
      ...refusing(() => true),
      list: async (kind, ...after) => {
        if (kind === 'package') stopping.abort();
        return pagesOfTwo().list(kind, ...after);
      },
    };
    await fill(failing, stopping.signal);
    expect(await engine.isFilled()).toBe(false);
    await fill(refusing((id) => id === 'c' || id === 'e'));
    expect(await found()).toEqual(['a', 'b', 'd']);
  });

  test('shows nothing of what it brings before the end, then everything', async () => {
    let failures = 0;
    await fill(
      pagesOfTwo(async () => {
        expect(await found()).toEqual([]);
      }),
      undefined,
      async () => {
        expect(await found()).toEqual([]);
        failures += 1;
        return failures > 1;
      },
    );
    expect({ failures, found: await found() }).toEqual({ failures: 2, found: IDS });
  });

  test('writes no row a second time at the end, and leaves what events write to the writers', async () => {
    const written: string[][] = [];
    const hidden: unknown[] = [];
    const watched: SearchEngine = {
      ...engine,
      write: async () => expect('no page').toBe('written here'),
      build: async (id, entities) => {
        written.push(entities.map((one) => one.id));
        await engine.build(id, entities);
      },
      markFilled: async () => {
        const { rows } = await pool.query('SELECT id FROM index_document WHERE NOT is_announced');
        hidden.push(...rows);
        await engine.markFilled();
      },
    };
    await fill(pagesOfTwo(), undefined, undefined, watched);
    expect({ written, hidden }).toEqual({ written: [['a', 'b'], ['c', 'd'], ['e']], hidden: [] });
    expect(await found()).toEqual(IDS);
  });

  test('tries on while a service is away', async () => {
    let failures = 0;
    await fill(
      pagesOfTwo((afterId) => {
        if (afterId === 'b' && failures++ === 0) throw new ServiceError('unavailable', 'Away.');
      }),
    );
    expect(failures).toBe(2);
    expect(await found()).toEqual(IDS);
  });

  test('is done also where an event was faster, and then never again', async () => {
    await engine.write({ entities: [anEntity({ id: 'c' })] });
    await fill(pagesOfTwo());
    expect(await found()).toEqual(IDS);
    let pages = 0;
    await fill(pagesOfTwo(() => (pages += 1)));
    expect(pages).toBe(0);
  });

  test('is made good where the former release has written since', async () => {
    const asked: string[] = [];
    const source: EntitySource = {
      ...pagesOfTwo(),
      fetch: async (_kind, ids) => {
        asked.push(...ids);
        return ids.map((id) =>
          anEntity({ id, revision: id === 'a' ? 2 : 1, metadata: { subjects: [{ subject: `of ${id}` }] } }),
        );
      },
    };
    const subjects = async () => {
      const { facets } = await engine.search(aSearch({ facets: ['subject'] }));
      return (facets['subject'] ?? []).map(({ value, count }) => `${value}: ${count}`);
    };
    const refresh = () => refreshFormer({ engine, source, logger, signal: new AbortController().signal });
    const expected = IDS.map((id) => `of ${id}: 1`);
    await engine.write({ entities: IDS.filter((id) => id !== 'b').map((id) => anEntity({ id })) });
    await engine.markFilled();
    // News, a form that was not there, and the same form with another facet, as when an embargo ends.
    await writeFormer(database.url, { id: 'a', revision: 2, facets: [] });
    await writeFormer(database.url, { id: 'b', revision: 1, facets: ['subject=of b'] });
    await writeFormer(database.url, { id: 'c', revision: 1, facets: ['subject=of c'] });
    await refresh();
    expect(asked).toEqual(['a', 'b', 'c']);
    expect(await subjects()).toEqual(expected.slice(0, 3));
    await refresh();
    expect(asked).toHaveLength(3);
    // What the former release had written before, after this one has written something else: a file came and went.
    await engine.write({
      entities: [anEntity({ id: 'c', metadata: { subjects: [{ subject: 'of files' }] } })],
    });
    await writeFormer(database.url, { id: 'c', revision: 1, facets: ['subject=of c'] });
    await refresh();
    expect(asked).toEqual(['a', 'b', 'c', 'c']);
    expect(await subjects()).toEqual(expected.slice(0, 3));
    for (const id of ['d', 'e']) await writeFormer(database.url, { id, revision: 1, facets: ['subject=x'] });
    await refresh();
    expect(await subjects()).toEqual(expected);
    expect(await found()).toEqual(IDS);
  });

  test('leaves the facets to the former release where that one reads them', async () => {
    await engine.write({ entities: [anEntity({ id: 'a', metadata: { subjects: [{ subject: 'of a' }] } })] });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client
      .query<{ facet: string }>(
        `SELECT facet FROM index_document, unnest(facets) AS facet
         WHERE split_part(facet, '=', 1) = ANY ('{category,resource_type,resource_type::image,subject}')`,
      )
      .finally(() => client.end());
    expect(rows.map(({ facet }) => facet).sort()).toEqual([
      'category=open',
      'resource_type::image=image-photo',
      'resource_type=image',
      'subject=of a',
    ]);
  });

  test('is done for an index of the release before, whatever is in it', async () => {
    const older = await mkdtemp(join(tmpdir(), 'older-migrations-'));
    const before = await freshDatabase();
    try {
      const files = (await readdir(SEARCH_MIGRATIONS.directory))
        .filter((file) => file.endsWith('.sql'))
        .sort();
      const first = files.findIndex((name) => name.endsWith('_filled-index.sql'));
      for (const file of files.slice(0, first)) {
        await cp(join(SEARCH_MIGRATIONS.directory, file), join(older, file));
      }
      await migrate({ databaseUrl: before.url, sets: [{ ...SEARCH_MIGRATIONS, directory: older }] });
      await engine.stop();
      engine = postgresEngine({ databaseUrl: before.url, searchTimeoutMs: 60_000, maxConnections: 2 });
      engineUrl = before.url;
      await pool.end();
      pool = new pg.Pool({ connectionString: engineUrl, max: 1 });
      pool.on('error', () => {});
      await insertOlder(before.url, 'c');
      await migrate({ databaseUrl: before.url, sets: [SEARCH_MIGRATIONS] });
      await fill(pagesOfTwo());
      expect(await found()).toEqual(IDS);
    } finally {
      await Promise.all([engine.stop(), pool.end()]);
      engine = open();
      pool = new pg.Pool({ connectionString: database.url, max: 1 });
      await before.drop();
      await rm(older, { recursive: true });
    }
  });
});

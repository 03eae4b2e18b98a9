import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { migrate } from '@kr/schema-migration';
import { createLogger } from '@kr/telemetry';
import { type FreshDatabase, freshDatabase } from '@kr/testbed';
import { postgresEngine } from '../engine/postgres/postgres-engine.ts';
import type { SearchEngine } from '../engine/search-engine.ts';
import { aSearch, idsOf } from '../engine/testing/a-search.ts';
import { anEntity } from '../engine/testing/an-entity.ts';
import { SEARCH_MIGRATIONS } from '../migrations.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { fillIndex } from './fill-index.ts';

const IDS = ['a', 'b', 'c', 'd', 'e'];
const logger = createLogger('test', new Writable({ write: (_chunk, _encoding, done) => done() }));

/** Records in pages of two; `onList` is told after which id a page is asked for. */
function pagesOfTwo(onList: (afterId: string) => unknown = () => {}): EntitySource {
  return {
    fetch: async (_kind, ids) => ids.map((id) => anEntity({ id })),
    list: async (kind, afterId) => {
      onList(afterId);
      return kind === 'record' ? IDS.filter((id) => id > afterId).slice(0, 2) : [];
    },
  };
}

describe('filling the index', () => {
  let database: FreshDatabase;
  let engine: SearchEngine & { stop(): Promise<void> };
  const open = () =>
    postgresEngine({ databaseUrl: database.url, searchTimeoutMs: 10_000, maxConnections: 2 });
  beforeEach(async () => {
    database = await freshDatabase();
    await migrate({ databaseUrl: database.url, sets: [SEARCH_MIGRATIONS] });
    engine = open();
  });
  afterEach(async () => {
    await engine.stop();
    await database.drop();
  });
  const found = async () => idsOf(await engine.search(aSearch())).sort();
  const fill = (source: EntitySource, signal = new AbortController().signal) =>
    fillIndex(engine, source, logger, signal);

  test('is not over after a stop in the middle', async () => {
    const stopping = new AbortController();
    await fill(
      pagesOfTwo((afterId) => afterId === 'b' && stopping.abort()),
      stopping.signal,
    );
    expect((await found()).slice(0, 2)).toEqual(['a', 'b']);
    expect(await found()).not.toContain('e');
    await fill(pagesOfTwo());
    expect(await found()).toEqual(IDS);
  });

  test('is not over when it fails in the middle and the process ends', async () => {
    const stopping = new AbortController();
    await fill(
      pagesOfTwo((afterId) => {
        if (afterId !== 'b') return;
        stopping.abort();
        throw new Error('killed');
      }),
      stopping.signal,
    );
    expect(await found()).toEqual(['a', 'b']);
    await fill(pagesOfTwo());
    expect(await found()).toEqual(IDS);
  });

  test('tries on while a service is away', async () => {
    let failures = 0;
    await fill(
      pagesOfTwo((afterId) => {
        if (afterId === 'b' && failures++ === 0) throw new Error('away');
      }),
    );
    expect(failures).toBe(2);
    expect(await found()).toEqual(IDS);
  });

  test('is done also where an event was faster, and then never again', async () => {
    await engine.write({ entities: [anEntity({ id: 'c' })], tombstones: [] });
    await fill(pagesOfTwo());
    expect(await found()).toEqual(IDS);
    let pages = 0;
    await fill(pagesOfTwo(() => (pages += 1)));
    expect(pages).toBe(0);
  });

  test('is done for an index of the release before, whatever is in it', async () => {
    const older = await mkdtemp(join(tmpdir(), 'older-migrations-'));
    const before = await freshDatabase();
    try {
      const files = (await readdir(SEARCH_MIGRATIONS.directory))
        .filter((file) => file.endsWith('.sql'))
        .sort();
      for (const file of files.filter((name) => !name.endsWith('_filled-index.sql'))) {
        await cp(join(SEARCH_MIGRATIONS.directory, file), join(older, file));
      }
      await migrate({ databaseUrl: before.url, sets: [{ ...SEARCH_MIGRATIONS, directory: older }] });
      await engine.stop();
      engine = postgresEngine({ databaseUrl: before.url, searchTimeoutMs: 10_000, maxConnections: 2 });
      await engine.write({ entities: [anEntity({ id: 'c' })], tombstones: [] });
      await migrate({ databaseUrl: before.url, sets: [SEARCH_MIGRATIONS] });
      await fill(pagesOfTwo());
      expect(await found()).toEqual(IDS);
    } finally {
      await engine.stop();
      engine = open();
      await before.drop();
      await rm(older, { recursive: true });
    }
  });
});

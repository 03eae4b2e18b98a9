import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { migrate } from '@kr/schema-migration';
import { ServiceError } from '@kr/service-error';
import { createLogger } from '@kr/telemetry';
import { type FreshDatabase, freshDatabase, until } from '@kr/testbed';
import pg from 'pg';
import type { SearchIndex } from '../index/search-index.ts';
import { openPostgresIndex } from '../index/testing/a-postgres-index.ts';
import { aSearch, idsOf } from '../index/testing/a-search.ts';
import { anEntity } from '../index/testing/an-entity.ts';
import type { PatientIndex } from '../index/testing/tested-index.ts';
import { SCHEMA } from '../schema.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { operationLog } from './operation-log.ts';
import { withThrottle } from './pages.ts';
import { createSignal, reindexWhenRequested } from './reindex.ts';

const IDS = ['a', 'b', 'c', 'd', 'e'];
const logger = createLogger('test', new Writable({ write: (_chunk, _encoding, done) => done() }));

/** Records in pages of two; `onList` gets the id after which a page is requested. */
function pagesOfTwo(onList: (afterId: string) => unknown = () => {}): EntitySource {
  return {
    fetch: async (_kind, ids) => ids.map((id) => anEntity({ id })),
    list: async (kind, afterId) => {
      await onList(afterId);
      return kind === 'record' ? IDS.filter((id) => id > afterId).slice(0, 2) : [];
    },
  };
}

describe('filling the index', () => {
  let database: FreshDatabase;
  let index: PatientIndex;
  let pool: pg.Pool;
  beforeEach(async () => {
    database = await freshDatabase();
    await migrate({ databaseUrl: database.url, sets: SCHEMA });
    index = await openPostgresIndex(database.url);
    pool = new pg.Pool({ connectionString: database.url, max: 1 });
    pool.on('error', () => {});
  });
  afterEach(async () => {
    await Promise.all([index.stop(), pool.end()]);
    await database.drop();
  });
  const found = async () => idsOf(await index.search(aSearch())).sort();
  /** As a process does that ends at the signal, or when the index is filled. */
  const fill = async (
    source: EntitySource,
    signal = new AbortController().signal,
    hasArrived = async () => true,
    filling: SearchIndex = index,
  ) => {
    const over = new AbortController();
    const stopping = AbortSignal.any([signal, over.signal]);
    const shared = { databaseUrl: database.url, log: operationLog(pool), hasArrived, logger };
    const working = reindexWhenRequested(
      { ...withThrottle(filling, 50, stopping), ...shared, source },
      createSignal(),
      stopping,
    );
    await until(async () => signal.aborted || (await index.isFilled()));
    over.abort();
    await working;
  };

  test('is not over after a stop in the middle', async () => {
    const stopping = new AbortController();
    await fill(
      pagesOfTwo((afterId) => afterId === 'b' && stopping.abort()),
      stopping.signal,
    );
    expect([await index.isFilled(), await found()]).toEqual([false, []]);
    await fill(pagesOfTwo());
    expect(await found()).toEqual(IDS);
  });

  test('omits documents that the engine rejects, and stays unfilled if it rejects all', async () => {
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
    expect(await index.isFilled()).toBe(false);
    await fill(refusing((id) => id === 'c' || id === 'e'));
    expect(await found()).toEqual(['a', 'b', 'd']);
  });

  test('reveals none of its forms before the end, then all', async () => {
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

  test('writes each page once, and does not write forms that events have written', async () => {
    const written: string[][] = [];
    const watched: SearchIndex = {
      ...index,
      write: async () => expect('no page').toBe('written here'),
      build: async (id, entities) => {
        written.push(entities.map((one) => one.id));
        await index.build(id, entities);
      },
    };
    await fill(pagesOfTwo(), undefined, undefined, watched);
    expect(written).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    expect(await found()).toEqual(IDS);
  });

  test('reveals forms that were staged before: their publication may have ended long ago', async () => {
    await index.write({ staged: [anEntity({ id: 'c' })] });
    expect(await found()).toEqual([]);
    await fill(
      pagesOfTwo(async (afterId) => {
        if (afterId === 'd') await index.write({ staged: [anEntity({ id: 'e' })] });
      }),
    );
    expect(await found()).toEqual(IDS);
  });

  test('retries while a service is unavailable', async () => {
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
    await index.write({ entities: [anEntity({ id: 'c' })] });
    await fill(pagesOfTwo());
    expect(await found()).toEqual(IDS);
    let pages = 0;
    await fill(pagesOfTwo(() => (pages += 1)));
    expect(pages).toBe(0);
  });
});

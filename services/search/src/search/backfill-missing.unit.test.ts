import { describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { anEntity } from '../index/testing/an-entity.ts';
import { backfillMissing } from './backfill-missing.ts';

const QUIET = { error: () => undefined };

/** Longer than a pause of a loaded machine. */
const LONG_MS = 60_000;
const SOON_MS = 20;

/** The third and the fourth are large. */
const sizeOf = (id: string) => (['r2', 'r3'].includes(id) ? 200_000 : 10);

const ids = (count: number) => Array.from({ length: count }, (_, at) => `r${at}`);

/** A source that answers when it is let, and what reached the index. */
function world({ isOpen = true } = {}) {
  const gate = Promise.withResolvers<void>();
  if (isOpen) gate.resolve();
  const fetched: string[][] = [];
  const written: string[] = [];
  const bring = backfillMissing({
    logger: QUIET,
    source: {
      fetch: async (_kind, wanted) => {
        fetched.push([...wanted]);
        await gate.promise;
        return wanted.map((id) => anEntity({ id }));
      },
    },
    index: {
      write: async ({ staged = [] }) => void written.push(...staged.map(({ id }) => id)),
    },
  });
  return { bring, fetched, written, open: gate.resolve, fail: gate.reject };
}

describe('an entity that the index lacks', () => {
  test('is fetched with some others at a time, until the time is over', async () => {
    const { bring, fetched, written } = world();
    await bring(ids(25), LONG_MS);
    expect(fetched.map(({ length }) => length)).toEqual([10, 10, 5]);
    expect(written).toEqual(ids(25));
  });

  test('is not awaited longer than the limit, and no more of it is started then', async () => {
    const { bring, fetched, written, open } = world({ isOpen: false });
    await bring(ids(25), SOON_MS);
    expect(fetched).toEqual([ids(10)]);
    open();
    await bring(ids(25), LONG_MS);
    expect(written).toEqual(ids(25));
  });

  test('is fetched once for all concurrent callers', async () => {
    const { bring, fetched, written, open } = world({ isOpen: false });
    await Promise.all([bring(ids(3), SOON_MS), bring(ids(4), SOON_MS), bring(ids(2), SOON_MS)]);
    expect(fetched).toEqual([ids(3), ['r3']]);
    open();
    await bring(ids(4), LONG_MS);
    expect(new Set(written)).toEqual(new Set(ids(4)));
  });

  test('is written alone if it is large, and with others if it is not', async () => {
    const writes: number[] = [];
    const bring = backfillMissing({
      logger: QUIET,
      source: {
        fetch: async (_kind, wanted) => wanted.map((id) => anEntity({ id, title: 'x'.repeat(sizeOf(id)) })),
      },
      index: { write: async ({ staged = [] }) => void writes.push(staged.length) },
    });
    await bring(ids(6), LONG_MS);
    expect(writes).toEqual([2, 1, 1, 2]);
  });

  test('is not fetched repeatedly if it is not published', async () => {
    const fetched: string[][] = [];
    const bring = backfillMissing({
      logger: QUIET,
      source: {
        fetch: async (_kind, wanted) => {
          fetched.push([...wanted]);
          return [anEntity({ id: 'published' }), anEntity({ id: 'draft', form: 'draft' })];
        },
      },
      index: { write: async () => undefined },
    });
    expect(await bring(['published', 'draft', 'gone'], LONG_MS)).toBe(true);
    expect(await bring(['draft', 'gone'], LONG_MS)).toBe(false);
    expect(await bring(['draft', 'other'], LONG_MS)).toBe(true);
    expect(fetched).toEqual([['published', 'draft', 'gone'], ['other']]);
  });

  test('fails for waiting callers when it cannot be fetched, and may be retried', async () => {
    const { bring, fetched, fail } = world({ isOpen: false });
    const late = bring(ids(1), SOON_MS);
    const waiting = bring(ids(1), LONG_MS);
    await late;
    fail(new ServiceError('unavailable', 'The records service is away.'));
    await expect(waiting).rejects.toThrow('away');
    await expect(bring(ids(1), LONG_MS)).rejects.toThrow('away');
    expect(fetched).toEqual([ids(1), ids(1)]);
  });
});

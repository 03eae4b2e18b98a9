import { describe, expect, test } from '@jest/globals';
import { deadlineIn } from '../engine/deadline.ts';
import type { EngineSuggest } from '../engine/search-engine.ts';
import type { SearchIndex } from '../index/search-index.ts';
import { aSearch } from '../index/testing/a-search.ts';
import type { IdPage, PageSize } from './pages.ts';
import { forEachPage, withThrottle } from './pages.ts';

const never = new AbortController().signal;

const suggest: EngineSuggest = {
  viewer: aSearch().viewer,
  kinds: ['record'],
  type: 'title',
  prefixes: ['flo'],
  limit: 1,
  now: new Date(),
};

/** Searches that end on command. */
function searches() {
  const { promise, resolve } = Promise.withResolvers<never>();
  const index: Pick<SearchIndex, 'search' | 'suggest'> = { search: () => promise, suggest: () => promise };
  return { end: () => resolve(undefined as never), index };
}

async function millisecondsOf(work: Promise<void>): Promise<number> {
  const begun = performance.now();
  await work;
  return performance.now() - begun;
}

describe('work on the whole index', () => {
  test('does not pause without searches', async () => {
    const { throttle } = withThrottle(searches().index, 1, never);
    expect(throttle.hasSearches()).toBe(false);
    await throttle.pauseAfter(3_600_000);
  });

  test('does not change searches and their time limits', async () => {
    const limits: unknown[] = [];
    const { index } = withThrottle(
      {
        search: async (_search, deadline) => limits.push(deadline) as never,
        suggest: async (_suggest, deadline) => limits.push(deadline) as never,
      } satisfies Pick<SearchIndex, 'search' | 'suggest'>,
      1,
      never,
    );
    const [one, other] = [deadlineIn(700), deadlineIn(800)];
    await index.search(aSearch(), one);
    await index.suggest(suggest, other);
    expect(limits).toEqual([one, other]);
  });

  test('uses no more than its share of the time during searches, and does not wait for ever', async () => {
    const { index: asked } = searches();
    const { index, throttle } = withThrottle(asked, 25, never);
    void index.search(aSearch(), deadlineIn(1_000));
    expect(throttle.hasSearches()).toBe(true);
    // Timers may be early by a part of a millisecond.
    expect(await millisecondsOf(throttle.pauseAfter(20))).toBeGreaterThan(59);
  });

  test('continues when it is stopped', async () => {
    const stopping = new AbortController();
    const { index, throttle } = withThrottle(searches().index, 1, stopping.signal);
    void index.suggest(suggest, deadlineIn(1_000));
    const pause = throttle.pauseAfter(3_600_000);
    stopping.abort();
    await pause;
  });

  test('continues shortly after the last search', async () => {
    const { index: asked, end } = searches();
    const { index, throttle } = withThrottle(asked, 1, never);
    const search = index.search(aSearch(), deadlineIn(1_000));
    const pause = throttle.pauseAfter(3_600_000);
    end();
    await search;
    await pause;
    expect(throttle.hasSearches()).toBe(false);
  });
});

describe('pages', () => {
  const pages = async function* (count: number): AsyncGenerator<IdPage> {
    for (let page = 0; page < count; page += 1) yield { kind: 'record', ids: [String(page)] };
  };
  const most = async (hasSearches: boolean): Promise<{ atOnce: number; done: string[] }> => {
    let [now, atOnce] = [0, 0];
    const done: string[] = [];
    await forEachPage(
      () => pages(5),
      { hasSearches: () => hasSearches, pauseAfter: async () => {} },
      async ({ ids }) => {
        now += 1;
        atOnce = Math.max(atOnce, now);
        await new Promise(setImmediate);
        done.push(...ids);
        now -= 1;
        return 0;
      },
    );
    return { atOnce, done: done.sort() };
  };

  test('are worked on two at once, and one at a time beside searches', async () => {
    const done = ['0', '1', '2', '3', '4'];
    expect(await most(false)).toEqual({ atOnce: 2, done });
    expect(await most(true)).toEqual({ atOnce: 1, done });
  });

  test('end where the next one cannot be had, when nothing is under way any more', async () => {
    let isOver = false;
    const broken = async function* () {
      yield* pages(1);
      throw new Error('no list');
    };
    const work = forEachPage(broken, { hasSearches: () => false, pauseAfter: async () => {} }, async () => {
      await new Promise(setImmediate);
      isOver = true;
      return 0;
    });
    await expect(work).rejects.toThrow('no list');
    expect(isOver).toBe(true);
  });

  test('end with the first that fails, when nothing is under way any more', async () => {
    const begun: string[] = [];
    let isOver = false;
    const work = forEachPage(
      () => pages(50),
      { hasSearches: () => false, pauseAfter: async () => {} },
      async ({ ids }) => {
        begun.push(...ids);
        if (ids[0] === '1') throw new Error('broken');
        await new Promise(setImmediate);
        isOver = true;
        return 0;
      },
    );
    await expect(work).rejects.toThrow('broken');
    expect(isOver).toBe(true);
    expect(begun.length).toBeLessThan(4);
  });

  /** The number of ids requested per page, if each of them has this many bytes. */
  const sizes = async (bytesEach: readonly number[], hasSearches = false): Promise<number[]> => {
    const asked: number[] = [];
    const sized = async function* (size: PageSize): AsyncGenerator<IdPage> {
      for (const bytes of bytesEach) {
        // The one before is done.
        await new Promise(setImmediate);
        asked.push(size('record'));
        yield { kind: 'record', ids: Array.from({ length: size('record') }, () => String(bytes)) };
      }
    };
    await forEachPage(
      sized,
      { hasSearches: () => hasSearches, pauseAfter: async () => {} },
      async ({ ids }) => ids.reduce((sum, bytes) => sum + Number(bytes), 0),
    );
    return asked;
  };
  const pagesOfBytes = (bytes: number, count = 12) => Array.from({ length: count }, () => bytes);

  test('begin small and grow up to five hundred ids', async () => {
    expect(await sizes(pagesOfBytes(2_000, 8))).toEqual([20, 40, 80, 160, 320, 500, 500, 500]);
    expect((await sizes(pagesOfBytes(0))).at(-1)).toBe(500);
  });

  test('have as many ids as fit into memory, after any previous pages', async () => {
    expect((await sizes(pagesOfBytes(15_000))).at(-1)).toBe(100);
    expect((await sizes(pagesOfBytes(1_000_000))).at(-1)).toBe(5);
    expect((await sizes([...pagesOfBytes(1_000_000), ...pagesOfBytes(1_000)])).at(-1)).toBe(500);
  });

  test('are small during searches, even if the entities are small', async () => {
    expect((await sizes(pagesOfBytes(10), true)).at(-1)).toBe(100);
  });

  test('of another kind begin small again', async () => {
    const asked: number[] = [];
    const kinds = async function* (size: PageSize): AsyncGenerator<IdPage> {
      for (const kind of [...Array.from({ length: 9 }, () => 'record' as const), 'package' as const]) {
        await new Promise(setImmediate);
        asked.push(size(kind));
        yield { kind, ids: Array.from({ length: size(kind) }, String) };
      }
    };
    await forEachPage(kinds, { hasSearches: () => false, pauseAfter: async () => {} }, async () => 1_000);
    expect(asked.slice(-2)).toEqual([500, 20]);
  });
});

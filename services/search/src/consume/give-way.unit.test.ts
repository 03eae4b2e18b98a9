import { describe, expect, jest, test } from '@jest/globals';
import type { EngineSuggest, SearchEngine } from '../engine/search-engine.ts';
import { aSearch } from '../engine/testing/a-search.ts';
import { eachPage } from './each-page.ts';
import { givingWay } from './give-way.ts';
import type { IdPage } from './pages-of.ts';

const never = new AbortController().signal;

const suggest: EngineSuggest = {
  viewer: aSearch().viewer,
  kinds: ['record'],
  type: 'title',
  prefixes: ['flo'],
  limit: 1,
  now: new Date(),
};

/** Searches that end when they are told to. */
function searches() {
  const { promise, resolve } = Promise.withResolvers<never>();
  const engine: Pick<SearchEngine, 'search' | 'suggest'> = { search: () => promise, suggest: () => promise };
  return { end: () => resolve(undefined as never), engine };
}

async function millisecondsOf(work: Promise<void>): Promise<number> {
  const begun = performance.now();
  await work;
  return performance.now() - begun;
}

describe('work on the whole index', () => {
  test('makes no pause while nobody searches', async () => {
    const { giveWay } = givingWay(searches().engine, 1, never);
    expect(giveWay.isWanted()).toBe(false);
    await giveWay.pauseAfter(3_600_000);
  });

  test('takes no more than its share of the time while somebody does, and does not wait for ever', async () => {
    const { engine: asked } = searches();
    const { engine, giveWay } = givingWay(asked, 25, never);
    void engine.search(aSearch());
    expect(giveWay.isWanted()).toBe(true);
    // Timers may be early by a part of a millisecond.
    expect(await millisecondsOf(giveWay.pauseAfter(20))).toBeGreaterThan(59);
  });

  test('goes on when it is told to stop', async () => {
    const stopping = new AbortController();
    const { engine, giveWay } = givingWay(searches().engine, 1, stopping.signal);
    void engine.suggest(suggest);
    const pause = giveWay.pauseAfter(3_600_000);
    stopping.abort();
    await pause;
  });

  test('goes on a moment after the last search', async () => {
    const { engine: asked, end } = searches();
    const { engine, giveWay } = givingWay(asked, 1, never);
    const search = engine.search(aSearch());
    const pause = giveWay.pauseAfter(3_600_000);
    end();
    await search;
    await pause;
    expect(giveWay.isWanted()).toBe(false);
  });
});

describe('pages', () => {
  const pages = async function* (count: number): AsyncGenerator<IdPage> {
    for (let page = 0; page < count; page += 1) yield { kind: 'record', ids: [String(page)] };
  };
  const most = async (isWanted: boolean): Promise<{ atOnce: number; done: string[] }> => {
    let [now, atOnce] = [0, 0];
    const done: string[] = [];
    await eachPage(
      () => pages(5),
      { isWanted: () => isWanted, pauseAfter: async () => {} },
      async ({ ids }) => {
        now += 1;
        atOnce = Math.max(atOnce, now);
        await new Promise(setImmediate);
        done.push(...ids);
        now -= 1;
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
    const work = eachPage(broken, { isWanted: () => false, pauseAfter: async () => {} }, async () => {
      await new Promise(setImmediate);
      isOver = true;
    });
    await expect(work).rejects.toThrow('no list');
    expect(isOver).toBe(true);
  });

  test('end with the first that fails, when nothing is under way any more', async () => {
    const begun: string[] = [];
    let isOver = false;
    const work = eachPage(
      () => pages(50),
      { isWanted: () => false, pauseAfter: async () => {} },
      async ({ ids }) => {
        begun.push(...ids);
        if (ids[0] === '1') throw new Error('broken');
        await new Promise(setImmediate);
        isOver = true;
      },
    );
    await expect(work).rejects.toThrow('broken');
    expect(isOver).toBe(true);
    expect(begun.length).toBeLessThan(4);
  });

  /** What is asked for, page by page, where each id takes so many milliseconds. */
  const sizes = async (msEach: readonly number[], isWanted = false): Promise<number[]> => {
    let now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const asked: number[] = [];
    const sized = async function* (size: () => number): AsyncGenerator<IdPage> {
      for (const ms of msEach) {
        asked.push(size());
        yield { kind: 'record', ids: Array.from({ length: size() }, () => String(ms)) };
      }
    };
    await eachPage(sized, { isWanted: () => isWanted, pauseAfter: async () => {} }, async ({ ids }) => {
      now += ids.reduce((sum, ms) => sum + Number(ms), 0);
    });
    jest.restoreAllMocks();
    return asked;
  };

  test('grow as long as they are written at once, up to five hundred ids', async () => {
    expect((await sizes(Array.from({ length: 9 }, () => 0.1))).at(-1)).toBe(500);
    expect((await sizes(Array.from({ length: 9 }, () => 0))).at(-1)).toBe(500);
  });

  test('are small where each id takes its time, but not too small', async () => {
    expect((await sizes(Array.from({ length: 9 }, () => 8))).at(-1)).toBe(50);
    expect((await sizes(Array.from({ length: 9 }, () => 8_000))).at(-1)).toBe(10);
    expect((await sizes([8_000, 8_000, 8_000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])).at(-1)).toBe(500);
  });

  test('are small beside searches, however fast they are', async () => {
    expect(
      (
        await sizes(
          Array.from({ length: 9 }, () => 0.1),
          true,
        )
      ).at(-1),
    ).toBe(100);
  });
});

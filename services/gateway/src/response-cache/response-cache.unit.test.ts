import { describe, expect, test } from '@jest/globals';
import type { Rendered } from '../rendering/rendered.ts';
import { isEntityUrl, isPageUrl, LIFETIME_MS, openResponseCache, type ReadResult } from './response-cache.ts';

const ADDRESS = { path: '/api/records/a', mediaType: 'application/json', baseUrl: 'http://h' };

function answer(text = 'x'): Rendered {
  return { status: 200, mediaType: 'application/json', tag: '"1"', bytes: Buffer.from(text) };
}

function opened() {
  const clock = { ms: 0 };
  return { clock, answers: openResponseCache(() => clock.ms) };
}

describe('a public answer', () => {
  test('is cached for a second from before it was read', () => {
    const { answers, clock } = opened();
    const keep = answers.beginRead();
    clock.ms = 400;
    keep(ADDRESS, 'p', answer());
    const found = [999, 1_000].map((ms) => {
      clock.ms = ms;
      return answers.find(ADDRESS)?.bytes.toString();
    });
    expect([LIFETIME_MS, ...found]).toEqual([1_000, 'x', undefined]);
  });

  test.each([
    { ...ADDRESS, path: '/api/records/b' },
    { ...ADDRESS, mediaType: 'text/plain' },
    { ...ADDRESS, baseUrl: 'https://h' },
  ])('is not the answer to %o', (other) => {
    const { answers } = opened();
    answers.beginRead()(ADDRESS, 'p', answer());
    expect(answers.find(other)).toBeUndefined();
  });

  test('is forgotten with its parent, and others are not', () => {
    const { answers } = opened();
    const other = { ...ADDRESS, path: '/api/records/b' };
    answers.beginRead()(ADDRESS, 'p', answer());
    answers.beginRead()(other, 'q', answer('y'));
    answers.forgetParent('p');
    expect([answers.find(ADDRESS), answers.find(other)?.bytes.toString()]).toEqual([undefined, 'y']);
    answers.forgetAll();
    expect(answers.find(other)).toBeUndefined();
  });

  test.each(['forgetParent', 'forgetAll'] as const)(
    'that was being read when %s was received is not cached',
    (forget) => {
      const { answers } = opened();
      const keep = answers.beginRead();
      answers[forget]('any');
      keep(ADDRESS, 'p', answer());
      expect(answers.find(ADDRESS)).toBeUndefined();
    },
  );

  test('is evicted when many are cached', () => {
    const { answers } = opened();
    const large = answer('x'.repeat(1_000_000));
    const paths = Array.from({ length: 20 }, (_, index) => `/api/records/${index}`);
    for (const path of paths) answers.beginRead()({ ...ADDRESS, path }, 'p', large);
    const cached = paths.filter((path) => answers.find({ ...ADDRESS, path }) !== undefined);
    expect(cached).toEqual(paths.slice(-8));
  });
});

describe('a shared read', () => {
  /** Reads that end when `finish` is called, each with its own text. */
  function reads() {
    const results: PromiseWithResolvers<ReadResult<Rendered>>[] = [];
    const read = () => {
      const result = Promise.withResolvers<ReadResult<Rendered>>();
      results.push(result);
      return result.promise;
    };
    const finish = (parentId: string | undefined = 'p') => {
      for (const [index, { resolve }] of results.entries()) resolve({ value: answer(`${index}`), parentId });
    };
    return { results, read, finish };
  }
  const textOf = async (shared: Promise<Rendered>) => (await shared).bytes.toString();

  test('answers the readers that arrive while it runs, and is then cached', async () => {
    const { answers } = opened();
    const { results, read, finish } = reads();
    const shared = [1, 2, 3].map(() => textOf(answers.readShared(ADDRESS, read)));
    finish();
    expect(await Promise.all(shared)).toEqual(['0', '0', '0']);
    expect([results.length, answers.find(ADDRESS)?.bytes.toString()]).toEqual([1, '0']);
  });

  test.each([
    ['a change', 0, ['p']],
    ['a second', LIFETIME_MS, []],
  ])('does not answer readers that arrive after %s', async (_name, elapsedMs, changed) => {
    const { answers, clock } = opened();
    const { read, finish } = reads();
    const first = textOf(answers.readShared(ADDRESS, read));
    clock.ms += elapsedMs;
    for (const parentId of changed) answers.forgetParent(parentId);
    const later = [1, 2].map(() => textOf(answers.readShared(ADDRESS, read)));
    finish();
    expect(await Promise.all([first, ...later])).toEqual(['0', '1', '1']);
  });

  test('of a document that is not public answers its own reader alone', async () => {
    const { answers } = opened();
    const values: string[] = [];
    const read = async () => ({ value: answer(`${values.push('read')}`), parentId: undefined });
    const both = [1, 2].map(() => textOf(answers.readShared(ADDRESS, read)));
    expect([await Promise.all(both), answers.find(ADDRESS)]).toEqual([['1', '2'], undefined]);
  });

  test('that fails does not fail the others', async () => {
    const { answers } = opened();
    const { results, read } = reads();
    const first = answers.readShared(ADDRESS, read);
    const second = textOf(answers.readShared(ADDRESS, async () => ({ value: answer('own'), parentId: 'p' })));
    results[0]?.reject(new Error('unavailable'));
    await expect(first).rejects.toThrow('unavailable');
    expect(await second).toBe('own');
  });
});

test.each([
  ['/api/records/aaaaa-bbbbb', true, false],
  ['/api/packages/aaaaa-bbbbb', true, false],
  ['/packages/aaaaa-bbbbb', false, true],
  ['/api/records/aaaaa-bbbbb?a=/api/records/aaaaa-bbbbb', false, false],
  ['/records/aaaaa-bbbbb?a=/records/aaaaa-bbbbb', false, false],
  ['/api/records/aaaaa-bbbbb/draft', false, false],
])('%s can be cached as an entity: %s, as a page: %s', (url, isEntity, isPage) => {
  expect([isEntityUrl(url), isPageUrl(url)]).toEqual([isEntity, isPage]);
});

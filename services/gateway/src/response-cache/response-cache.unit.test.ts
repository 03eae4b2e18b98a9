import { describe, expect, test } from '@jest/globals';
import type { Rendered } from '../rendering/rendered.ts';
import { LIFETIME_MS, openResponseCache } from './response-cache.ts';

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

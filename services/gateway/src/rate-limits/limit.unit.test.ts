import { beforeEach, expect, test } from '@jest/globals';
import { type TokenBuckets, tokenBuckets } from './limit.ts';

let elapsedMs: number;
beforeEach(() => {
  elapsedMs = 5;
});

function openAll(perMinute: number, minutes: number): TokenBuckets {
  return tokenBuckets({ perMinute, minutes }, () => elapsedMs);
}

function open(perMinute: number, minutes: number): TokenBuckets['consume'] {
  return openAll(perMinute, minutes).consume;
}

test('may be spent at once, to the last unit and no further', () => {
  const consume = open(7, 2);
  const allowed = Array.from({ length: 15 }, () => consume('ada', 1).isAllowed);
  expect(allowed).toEqual([...Array(14).fill(true), false]);
});

test('returns the remaining tokens, and the time until it is full', () => {
  const consume = open(60, 2);
  expect([consume('ada', 1), consume('ada', 10)]).toEqual([
    { isAllowed: true, remaining: 119, waitMs: 0, fullMs: 1_000 },
    { isAllowed: true, remaining: 109, waitMs: 0, fullMs: 11_000 },
  ]);
});

test('that is empty stays unchanged, and has tokens at the returned time', () => {
  const consume = open(60, 1);
  consume('ada', 60);
  const refused = { isAllowed: false, remaining: 0, waitMs: 1_000, fullMs: 60_000 };
  expect([consume('ada', 10), consume('ada', 1)]).toEqual([refused, refused]);
  elapsedMs += 999;
  expect(consume('ada', 1)).toMatchObject({ isAllowed: false, waitMs: 1 });
  elapsedMs += 1;
  expect(consume('ada', 1)).toEqual({ isAllowed: true, remaining: 0, waitMs: 0, fullMs: 60_000 });
});

test('of which little is left is owed once, and saved before anything else is spent', () => {
  const consume = open(60, 1);
  consume('ada', 59);
  expect(consume('ada', 10)).toEqual({ isAllowed: true, remaining: 0, waitMs: 0, fullMs: 69_000 });
  expect(consume('ada', 1)).toEqual({ isAllowed: false, remaining: 0, waitMs: 10_000, fullMs: 69_000 });
});

test('is spent on expensive requests at the returned time, also beside callers who take all tokens', () => {
  const consume = open(60, 1);
  consume('ada', 60);
  const { waitMs } = consume('ada', 10);
  elapsedMs += waitMs;
  expect([consume('ada', 10).isAllowed, consume('ada', 1).isAllowed]).toEqual([true, false]);
});

test('is charged for completed work of any amount', () => {
  const { consume, penalize } = openAll(60, 1);
  for (let times = 0; times < 70; times += 1) penalize('ada', 1);
  expect(consume('ada', 0)).toEqual({ isAllowed: false, remaining: 0, waitMs: 11_000, fullMs: 70_000 });
});

test('fills up evenly, and never above its size', () => {
  const consume = open(60, 2);
  consume('ada', 120);
  elapsedMs += 30_000;
  expect(consume('ada', 0).remaining).toBe(30);
  elapsedMs += 3_600_000;
  expect(consume('ada', 0)).toMatchObject({ remaining: 120, fullMs: 0 });
});

test('is one for each key', () => {
  const consume = open(1, 1);
  expect([consume('ada', 1), consume('ben', 1), consume('ada', 1)].map(({ isAllowed }) => isAllowed)).toEqual(
    [true, true, false],
  );
});

test('of many keys takes bounded memory: the least recently used are evicted', () => {
  const consume = open(1, 1);
  consume('first', 1);
  consume('second', 1);
  for (let index = 0; index < 99_999; index += 1) consume(`key ${index}`, 1);
  expect([consume('second', 1).isAllowed, consume('first', 1).isAllowed]).toEqual([false, true]);
});

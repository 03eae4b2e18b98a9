import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { seededRandom, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { chanceText } from '../../services/search/src/query/testing/chance-text.ts';
import { type ChangeLog, inTurns, type ManyRequests, manyRequests } from '../access/http.ts';
import { chanceDocument } from '../access/twin-documents.ts';
import type { Entity, Listing } from '../e2e/story/answers.ts';
import { httpClient } from '../e2e/story/http-client.ts';
import { publish } from '../e2e/story/stories.ts';
import { report } from './report.ts';
import { scaled, seed } from './scale.ts';

const QUERY_COUNT = scaled(1_500, 200_000);
const ENTITY_COUNT = scaled(12, 200);
const PATIENCE_MS = scaled(300_000, 7_200_000);
const PATHS = [
  '/api/search?',
  '/api/records?size=3&',
  '/api/packages?sort=oldest&',
  '/api/search?cursor=*&',
  '/api/search/suggest?',
];

let system: TestSystem;
let requests: ManyRequests;
beforeAll(async () => {
  system = await startSystem({ environment: { RATE_LIMIT_ANONYMOUS: '0', RATE_LIMIT_USER: '0' } });
  requests = manyRequests(system.baseUrl, () => undefined);
  const owner = httpClient(system.baseUrl, system.token);
  await inTurns(
    Array.from({ length: ENTITY_COUNT }, (_, at) => at),
    async (at) => {
      const json = chanceDocument(seededRandom(at), 'records', { access: 'public', isHidden: false });
      await publish(owner, await owner.sure<Entity>('POST', '/records', { json }));
    },
    4,
  );
  await until(async () => (await owner.sure<Listing>('GET', '/search?size=1')).hits.total === ENTITY_COUNT);
});
afterAll(async () => {
  await requests?.close();
  await system?.stop();
});

const REFUSAL = /^(?:query_syntax|query_too_complex)$/;

/** The problem of an answer; null if it is correct, or an error with message and position. */
function problemOf({ status, text }: ChangeLog): string | null {
  if (status === 200) return null;
  if (status !== 400) return `${status} ${text}`;
  const { code, errors = [] } = JSON.parse(text) as {
    code?: string;
    errors?: { field: string; messages: string[] }[];
  };
  const [error] = errors;
  const isPrecise = error?.field === 'q' && / at position \d+\.$/.test(error.messages[0] ?? '');
  // Values that are no query text are rejected before parsing.
  const isNoText = code === 'invalid' && text.includes('Invalid querystring parameters.');
  const isLongSuggestion =
    error?.field === 'q' && /^Longer than \d+ characters\.$/.test(error.messages[0] ?? '');
  return (REFUSAL.test(code ?? '') && isPrecise) || isNoText || isLongSuggestion ? null : text;
}

test(
  `${QUERY_COUNT} queries of all kinds are answered, or rejected with message and position (seed ${seed})`,
  async () => {
    const problems: object[] = [];
    const times: number[] = [];
    let answered = 0;
    await inTurns(
      Array.from({ length: QUERY_COUNT }, (_, at) => at),
      async (at) => {
        const q = chanceText(seededRandom(seed * 1_000_000 + at));
        const path = PATHS[at % PATHS.length] ?? '';
        const started = performance.now();
        const told = await requests.ask('GET', `${path}q=${encodeURIComponent(q)}`);
        times.push(performance.now() - started);
        if (told.status === 200) answered += 1;
        const problem = problemOf(told);
        if (problem !== null) problems.push({ q, path, problem });
      },
      4,
    );
    times.sort((a, b) => a - b);
    const at = (share: number) => Math.round(times[Math.floor(share * (times.length - 1))] ?? 0);
    report(
      `${QUERY_COUNT} queries, ${answered} answered; ms: median ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}`,
    );
    expect({ count: problems.length, some: problems.slice(0, 5) }).toEqual({ count: 0, some: [] });
    expect(answered).toBeGreaterThan(QUERY_COUNT / 4);
    expect(answered).toBeLessThan(QUERY_COUNT);
  },
  PATIENCE_MS,
);

describe('what would cost too much is refused', () => {
  test.each<[what: string, q: string, code: string]>([
    ['a wildcard at the beginning', '*isk', 'query_too_complex'],
    ['one after two characters', 'ri*', 'query_too_complex'],
    ['one after a letter and dots', 'a..*', 'query_too_complex'],
    ['six wildcards', 'abc* '.repeat(6), 'query_too_complex'],
    ['a regular expression', '/(a+)+b/', 'query_syntax'],
    ['a thousand clauses', 'a '.repeat(500), 'query_too_complex'],
    ['a longer text', 'a '.repeat(2_000), 'query_too_complex'],
    ['deep parentheses', `${'('.repeat(400)}a${')'.repeat(400)}`, 'query_too_complex'],
    ['a wide phrase', '"a b"~100000', 'query_too_complex'],
    ['many words with ~', 'flood~ risk~ map~ water~', 'query_too_complex'],
    ['a range of text', `versions.index:[1 TO ${'9'.repeat(500)}]`, 'query_syntax'],
  ])('%s', async (_, q, code) => {
    const { status, text } = await requests.ask('GET', `/api/search?q=${encodeURIComponent(q)}`);
    expect({ status, code: (JSON.parse(text) as { code?: string }).code }).toEqual({ status: 400, code });
  });
});

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { expectHere, INTENDED, NOT_YET, RULES } from './recorded/intended.ts';
import { knownIds } from './recorded/known-ids.ts';
import { documentsIn, MISSING_STEPS } from './recorded/missing-steps.ts';
import { type Player, play, player } from './recorded/replay.ts';
import { type Exchange, hasTranscripts, RECORDINGS, readRecording } from './recorded/transcript.ts';

/** Hundreds of requests, one after the other, may be slow beside other tests. */
const REPLAY_MS = 900_000;
const compatibility = resolve(import.meta.dirname, '../../docs/compatibility.md');

const recordings = hasTranscripts ? await Promise.all(RECORDINGS.map(readRecording)) : [];
const exchanges = recordings.flat();
const nameOf = ({ recording, number }: Exchange) => `${recording}/${number}`;

if (!hasTranscripts) {
  test.skip('needs the recorded exchanges of the original system in ../shared/transcripts', () => undefined);
}

(hasTranscripts ? describe : describe.skip)('the recorded exchanges', () => {
  let system: TestSystem;
  const differencesOf = new Map<string, readonly string[]>();
  const usedRules = new Set<string>();

  beforeAll(async () => {
    system = await startSystem({ environment: { OAI_PREFIX: 'gkhub.example.org' } });
  });
  beforeAll(async () => {
    const tokens = {
      owner: system.token,
      other: (await system.createUser('other')).token,
      admin: (await system.createUser('admin', { admin: true })).token,
    };
    const by = player(system.baseUrl, tokens, knownIds(system.baseUrl));
    for (const recording of recordings) await replay(recording, by);
  }, REPLAY_MS);
  afterAll(() => system?.stop());

  /** Each exchange builds on those before it, so one that fails must not end the others. */
  async function replay(recording: readonly Exchange[], by: Player): Promise<void> {
    const documentOf = documentsIn(recording);
    const expectOf = expectHere(usedRules);
    for (const exchange of recording) {
      const step = MISSING_STEPS[exchange.recording][exchange.number];
      const failed = await step?.(by, documentOf).catch((thrown: unknown) => `the step before: ${thrown}`);
      const name = nameOf(exchange);
      const intended = NOT_YET[name] === undefined ? (INTENDED[name]?.differs ?? []) : undefined;
      const found = await play(exchange, by, expectOf, intended).catch((thrown: unknown) => [String(thrown)]);
      differencesOf.set(name, failed === undefined ? found : [failed, ...found]);
    }
  }

  test.each(exchanges.map((exchange) => [`${exchange.recording}/${exchange.name}`, exchange] as const))(
    '%s is answered as recorded, or differs as intended',
    (_, exchange) => {
      const name = nameOf(exchange);
      const found = differencesOf.get(name);
      if (NOT_YET[name] === undefined) expect(found).toEqual(INTENDED[name]?.differs ?? []);
      else expect(found).not.toEqual([]);
    },
  );

  test('every general difference shows somewhere', () => {
    expect(RULES.map(({ topic }) => topic).filter((topic) => !usedRules.has(topic))).toEqual([]);
  });

  test('every difference is of a recorded exchange and explained to clients', async () => {
    const explained = await readFile(compatibility, 'utf8');
    const names = new Set(exchanges.map(nameOf));
    const topics = [...RULES, ...Object.values(INTENDED)].map(({ topic }) => topic);
    expect({
      unknown: [...Object.keys(INTENDED), ...Object.keys(NOT_YET)].filter((name) => !names.has(name)),
      unexplained: [...new Set(topics)].filter((topic) => !explained.includes(`| ${topic} |`)),
    }).toEqual({ unknown: [], unexplained: [] });
  });
});

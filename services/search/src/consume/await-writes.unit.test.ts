import { Writable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import type { EntityKind } from '../documents/entity.ts';
import { type AwaitEventsDeps, awaitWrites } from './await-events.ts';

const KINDS = ['record', 'package'] as const;
const logger = createLogger('test', new Writable({ write: (_chunk, _encoding, done) => done() }));
const never = () => new Promise<never>(() => {});

/** Longer than a pause of a loaded machine. */
const LONG_MS = 60_000;

/** The calls during the wait of one listing, in order, and whether it waited for the whole limit. */
async function wait(
  change: Partial<AwaitEventsDeps>,
  timeoutMs = LONG_MS,
  kinds: readonly EntityKind[] = KINDS,
) {
  const asked: string[] = [];
  const sent = (name: string) => async () => {
    asked.push(name);
    return true;
  };
  const written = awaitWrites({
    senders: { record: sent('records'), package: sent('packages') },
    consumer: {
      whenCaughtUp: async () => {
        asked.push('index');
        return true;
      },
    },
    checkBus: async () => undefined,
    logger,
    ...change,
  });
  const start = performance.now();
  await written(kinds, timeoutMs);
  const tookMs = performance.now() - start;
  return { asked, hasWaited: tookMs > timeoutMs / 2 };
}

describe('a listing that waits for recent writes', () => {
  test('queries every service and then the index', async () => {
    expect(await wait({})).toEqual({ asked: ['records', 'packages', 'index'], hasWaited: false });
  });

  test.each<[EntityKind, string[]]>([
    ['record', ['records', 'packages', 'index']],
    ['package', ['packages', 'index']],
  ])('of kind %s queries the services %j', async (kind, expected) => {
    const { asked } = await wait({}, LONG_MS, [kind]);
    expect(asked).toEqual(expected);
  });

  test.each<[string, Partial<AwaitEventsDeps>, { asked?: string[]; hasWaited: boolean }]>([
    [
      'a bus that is down',
      { checkBus: () => Promise.reject(new Error('down')) },
      { asked: [], hasWaited: false },
    ],
    ['a bus that hangs', { checkBus: never }, { asked: [], hasWaited: true }],
    ['an index that hangs', { consumer: { whenCaughtUp: never } }, { hasWaited: true }],
    [
      'an index that fails',
      { consumer: { whenCaughtUp: () => Promise.reject(new Error('gone')) } },
      { hasWaited: false },
    ],
    [
      'one service that fails, waiting for the other',
      { senders: { record: () => Promise.reject(new Error('gone')), package: async () => true } },
      { asked: ['index'], hasWaited: false },
    ],
    ['services that hang', { senders: { record: never, package: never } }, { asked: [], hasWaited: true }],
  ])('answers in time with %s', async (_name, change, outcome) => {
    expect(await wait(change, outcome.hasWaited ? 1_000 : LONG_MS)).toMatchObject({ ...outcome });
  });

  test('waits for nothing when it may not wait', async () => {
    expect(await wait({}, 0)).toMatchObject({ asked: [] });
  });
});

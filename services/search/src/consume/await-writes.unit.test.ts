import { Writable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import { type AwaitWritesDeps, awaitWrites, type WantedWrites } from './await-writes.ts';

const logger = createLogger('test', new Writable({ write: (_chunk, _encoding, done) => done() }));
const never = () => new Promise<never>(() => {});

/** Longer than a pause of a loaded machine. */
const LONG_MS = 60_000;

const BUSY = { endIfCaughtUp: async () => undefined };
const CALM = { endIfCaughtUp: async () => 7 };

/**
 * The calls during the wait of one listing, in order, its answer, and whether it waited for the whole limit.
 */
async function wait(
  change: Partial<AwaitWritesDeps>,
  timeoutMs = LONG_MS,
  wanted: Partial<WantedWrites> = {},
) {
  const asked: string[] = [];
  const sent = (name: string) => async () => {
    asked.push(name);
    return true;
  };
  const written = awaitWrites({
    senders: { records: sent('records'), packages: sent('packages') },
    consumer: {
      ...BUSY,
      whenCaughtUp: async () => {
        asked.push('index');
        return true;
      },
    },
    checkBus: async () => undefined,
    timeoutMs,
    logger,
    ...change,
  });
  const start = performance.now();
  const unproven = await written({ of: ['records', 'packages'], mayLeaveUnasked: true, ...wanted });
  const tookMs = performance.now() - start;
  return { asked: asked.sort(), unproven, hasWaited: tookMs > timeoutMs / 2 };
}

describe('a listing that waits for recent writes', () => {
  test('queries every service and then the index', async () => {
    expect(await wait({})).toEqual({
      asked: ['index', 'index', 'packages', 'records'],
      unproven: undefined,
      hasWaited: false,
    });
  });

  test('queries no service whose writes do not matter', async () => {
    expect(await wait({}, LONG_MS, { of: ['packages'] })).toMatchObject({ asked: ['index', 'packages'] });
  });

  test('queries no service that is known to have sent all events', async () => {
    expect(await wait({}, LONG_MS, { sentBy: ['records'] })).toMatchObject({
      asked: ['index', 'index', 'packages'],
    });
  });

  test('queries no service while the index contains all sent events, and returns which may have more', async () => {
    const consumer = { ...CALM, whenCaughtUp: never };
    expect(await wait({ consumer }, LONG_MS, { sentBy: ['packages'] })).toEqual({
      asked: [],
      unproven: { unasked: ['records'], streamEnd: 7 },
      hasWaited: false,
    });
  });

  test('queries all services on request, also without load', async () => {
    const consumer = { ...CALM, whenCaughtUp: async () => true };
    expect(await wait({ consumer }, LONG_MS, { mayLeaveUnasked: false })).toMatchObject({
      asked: ['packages', 'records'],
      unproven: undefined,
    });
  });

  test.each<[string, Partial<AwaitWritesDeps>, { asked?: string[]; hasWaited: boolean }]>([
    [
      'a bus that is down',
      { checkBus: () => Promise.reject(new Error('down')) },
      { asked: [], hasWaited: false },
    ],
    ['a bus that hangs', { checkBus: never }, { asked: [], hasWaited: true }],
    ['an index that hangs', { consumer: { ...BUSY, whenCaughtUp: never } }, { hasWaited: true }],
    [
      'an index of which nothing is known',
      { consumer: { whenCaughtUp: never, endIfCaughtUp: never } },
      { hasWaited: true },
    ],
    [
      'an index that fails',
      { consumer: { ...BUSY, whenCaughtUp: () => Promise.reject(new Error('gone')) } },
      { hasWaited: false },
    ],
    [
      'one service that fails, waiting for the other',
      { senders: { records: () => Promise.reject(new Error('gone')), packages: async () => true } },
      { asked: ['index'], hasWaited: false },
    ],
    ['services that hang', { senders: { records: never, packages: never } }, { asked: [], hasWaited: true }],
  ])('answers in time with %s', async (_name, change, outcome) => {
    expect(await wait(change, outcome.hasWaited ? 1_000 : LONG_MS)).toMatchObject({ ...outcome });
  });

  test('waits for nothing when it may not wait', async () => {
    expect(await wait({}, 0)).toMatchObject({ asked: [] });
  });
});

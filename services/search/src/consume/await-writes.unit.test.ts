import { Writable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import { type AwaitWritesDeps, awaitWrites, type WantedWrites } from './await-writes.ts';

const logger = createLogger('test', new Writable({ write: (_chunk, _encoding, done) => done() }));
const never = () => new Promise<never>(() => {});

const BUSY = { endIfCaughtUp: async () => undefined };
const CALM = { endIfCaughtUp: async () => 7 };

/** What was asked, in its order, while one listing waited, what it was told, and whether it waited as long as it may. */
async function wait(change: Partial<AwaitWritesDeps>, timeoutMs = 1_000, wanted: Partial<WantedWrites> = {}) {
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

describe('a listing that waits for what was written', () => {
  test('asks every service and then the index', async () => {
    expect(await wait({})).toEqual({
      asked: ['index', 'index', 'packages', 'records'],
      unproven: undefined,
      hasWaited: false,
    });
  });

  test('asks no service whose writes do not matter', async () => {
    expect(await wait({}, 1_000, { of: ['packages'] })).toMatchObject({ asked: ['index', 'packages'] });
  });

  test('asks no service that is known to have sent everything', async () => {
    expect(await wait({}, 1_000, { sentBy: ['records'] })).toMatchObject({
      asked: ['index', 'index', 'packages'],
    });
  });

  test('asks nobody while the index holds all that was sent, and says who may have more', async () => {
    const consumer = { ...CALM, whenCaughtUp: never };
    expect(await wait({ consumer }, 1_000, { sentBy: ['packages'] })).toEqual({
      asked: [],
      unproven: { unasked: ['records'], streamEnd: 7 },
      hasWaited: false,
    });
  });

  test('asks everybody when it is told to, however calm it is', async () => {
    const consumer = { ...CALM, whenCaughtUp: async () => true };
    expect(await wait({ consumer }, 1_000, { mayLeaveUnasked: false })).toMatchObject({
      asked: ['packages', 'records'],
      unproven: undefined,
    });
  });

  test.each<[string, Partial<AwaitWritesDeps>, object]>([
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
    expect(await wait(change)).toMatchObject({ ...outcome });
  });

  test('waits for nothing when it may not wait', async () => {
    expect(await wait({}, 0)).toMatchObject({ asked: [] });
  });
});

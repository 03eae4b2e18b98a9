import { Writable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import { type AwaitWritesDeps, awaitWrites, type SenderName } from './await-writes.ts';

const logger = createLogger('test', new Writable({ write: (_chunk, _encoding, done) => done() }));
const never = () => new Promise<never>(() => {});

/** What was asked, in its order, while one listing waited, and whether it waited as long as it may. */
async function wait(
  change: Partial<AwaitWritesDeps>,
  timeoutMs = 1_000,
  names: readonly SenderName[] = ['records', 'packages'],
) {
  const asked: string[] = [];
  const sent = (name: string) => async () => {
    asked.push(name);
    return true;
  };
  const written = awaitWrites({
    senders: { records: sent('records'), packages: sent('packages') },
    consumer: {
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
  await written(names);
  const tookMs = performance.now() - start;
  return { asked: asked.sort(), hasWaited: tookMs > timeoutMs / 2 };
}

describe('a listing that waits for what was written', () => {
  test('asks every service and then the index', async () => {
    expect(await wait({})).toEqual({
      asked: ['index', 'index', 'packages', 'records'],
      hasWaited: false,
    });
  });

  test('asks no service whose writes do not matter', async () => {
    expect(await wait({}, 1_000, ['packages'])).toMatchObject({ asked: ['index', 'packages'] });
  });

  test.each<[string, Partial<AwaitWritesDeps>, object]>([
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

import { Writable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import { type AwaitIndexDeps, awaitIndex } from './await-events.ts';

const logger = createLogger('test', new Writable({ write: (_chunk, _encoding, done) => done() }));
const never = () => new Promise<boolean>(() => {});
const yes = async () => true;
const no = async () => false;

function isFound(
  given: Partial<Record<'records' | 'packages', AwaitIndexDeps['senders']['record']>> &
    Partial<AwaitIndexDeps['consumer']>,
  ms = 60_000,
) {
  const { records = yes, packages = yes, whenCaughtUp = yes, failing = () => 0 } = given;
  const deps = {
    senders: { record: records, package: packages },
    consumer: { whenCaughtUp, failing },
    checkBus: async () => {},
    logger,
  };
  return awaitIndex(deps)({}, { deadline: new Date(Date.now() + ms) });
}

test('is found once all has been sent and indexed', async () => {
  expect(await isFound({})).toEqual({ isFound: true });
});

test.each<[string, Parameters<typeof isFound>[0]]>([
  ['a service has not sent all in time', { packages: no }],
  ['it is not indexed in time', { whenCaughtUp: no }],
  ['an event failed, whosever it is', { failing: () => 1 }],
  ['a service is away', { records: () => Promise.reject(new Error('away')) }],
])('is not known to be found when %s', async (_name, given) => {
  expect(await isFound(given)).toEqual({ isFound: false });
});

test('answers before the caller stops listening', async () => {
  expect(await isFound({ whenCaughtUp: never }, 60)).toEqual({ isFound: false });
  expect(await isFound({ records: never }, 0)).toEqual({ isFound: false });
});

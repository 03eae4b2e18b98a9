import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { definitions } from '@kr/contracts';
import { type Server, serve } from '@kr/rpc';
import { createLogger } from '@kr/telemetry';
import { checkDrift, reindex } from '../../clients/kr/src/commands/search-index.ts';
import type { Terminal } from '../../clients/kr/src/terminal/terminal.ts';

const KEY = 'a key of at least thirty-two characters';
const RUNNING = {
  startedAt: '2026-11-23T10:00:00.000Z',
  endedAt: '',
  documents: 1,
  expected: 2,
  problem: '',
};
const ENDED = { ...RUNNING, endedAt: '2026-11-23T10:00:05.000Z', documents: 2 };
const INDEX = {
  engine: 'postgres',
  documents: 2,
  isFilled: true,
  pendingEvents: 0,
  oldestPendingAt: '',
  deadLetters: 0,
  drift: null,
};

/** The report of a comparison without differences. */
const COMPARED = {
  startedAt: RUNNING.startedAt,
  endedAt: ENDED.endedAt,
  missing: 0,
  stale: 0,
  ghosts: 0,
  repaired: 0,
  unreadable: 0,
  forms: [],
};

const notCalled = async () => {
  throw new Error('not called by this command');
};

let folder: string;
let server: Server;
/** The answers of DescribeIndex in turn. */
let answers: (typeof RUNNING | Error)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-search-index-'));
  const logger = createLogger('test');
  logger.level = 'silent';
  server = await serve({
    services: [
      {
        definition: definitions.search,
        handlers: {
          Search: notCalled,
          Suggest: notCalled,
          AwaitIndex: notCalled,
          CheckDrift: async () => ({ drift: { ...COMPARED, entities: answers.length } }),
          StartReindex: async () => ({}),
          DescribeIndex: async () => {
            const answer = answers.shift();
            if (answer === undefined || answer instanceof Error) throw answer ?? new Error('no more answers');
            return { ...INDEX, isFilled: answer.endedAt !== '', reindex: answer };
          },
        },
        callers: { operator: ['StartReindex', 'DescribeIndex', 'CheckDrift'] },
      },
    ],
    host: '127.0.0.1',
    port: 0,
    audience: 'search',
    callerKeys: new Map([['operator', KEY]]),
    logger,
  });
  const runtime = { admin: { search: { address: `127.0.0.1:${server.port}`, key: KEY } } };
  await writeFile(join(folder, 'runtime.json'), JSON.stringify(runtime));
});
afterEach(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

test('kr admin search reindex waits while the state of the index cannot be read', async () => {
  const printed: string[] = [];
  const terminal = {
    print: (text: string) => printed.push(text),
    status: () => undefined,
  } as unknown as Terminal;
  const failures = [new Error('the bus cannot be reached'), new Error('consumer not found')];
  answers = [...failures, RUNNING, ...failures, ENDED];
  await reindex(terminal, { wait: true, json: false, dataDirs: [folder] });
  expect(printed).toEqual([expect.stringContaining('2 documents, finished 2026-11-23T10:00:05.000Z')]);
  expect(answers).toEqual([]);
});

test('kr admin search drift waits for the first build, and then compares', async () => {
  const printed: string[] = [];
  const terminal = {
    print: (text: string) => printed.push(text),
    status: () => undefined,
  } as unknown as Terminal;
  answers = [RUNNING, new Error('the bus cannot be reached'), ENDED];
  await checkDrift(terminal, { repair: false, json: true, dataDirs: [folder] });
  expect(JSON.parse(printed.join('\n'))).toMatchObject({ entities: 0, started_at: RUNNING.startedAt });
});

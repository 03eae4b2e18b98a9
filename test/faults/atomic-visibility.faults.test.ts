import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { makeTrouble, oneOf, seededRandom, type Trouble, troublesOf, until } from '@kr/testbed';
import { type SystemOptions, startSystem, type TestSystem } from '@kr/testbed/system';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import { oneTryClient } from '../e2e/story/http-client.ts';
import { checkHistory } from '../history/check-history.ts';
import { openRecorder, type Recorded } from '../history/history.ts';
import { publicationLedger } from './publication-ledger.ts';
import { startPublishers } from './publishers.ts';
import { preferring, startReaders } from './readers.ts';
import { report } from './report.ts';
import { scaled, seed } from './scale.ts';

const PUBLISHERS = scaled(3, 8);
const RESOURCES = scaled(10, 20);
const READERS = scaled(6, 16);
const FAULT_EVERY_MS = 2_000;
const APPLY_MS = 500;
const LINE_MS = 150;
const LONGEST_OUTAGE_MS = 120_000;

const EDGES = [
  'packages to postgres',
  'packages to records',
  'packages to nats',
  'records to postgres',
  'records to packages',
  'gateway to packages',
  'gateway to records',
] as const;
const KILLED = ['packages', 'records', 'files', 'gateway', 'nats'] as const;

let system: TestSystem | undefined;
afterEach(() => system?.stop());

interface Watched {
  pairs: number;
  publications: number;
  events: Recorded[];
  unforeseen: string[];
}

/** Publishes and reads often enough, then waits for all to settle and checks everything once more. */
async function watched(
  running: TestSystem,
  enough: { ms: number; pairs: number; publications: number },
  begin: () => { stop(): Promise<void> } = () => ({ stop: async () => undefined }),
): Promise<Watched> {
  const random = seededRandom(seed);
  const recorder = openRecorder();
  const { baseUrl, token } = running;
  const publishers = startPublishers(oneTryClient(baseUrl, token), {
    count: PUBLISHERS,
    resources: RESOURCES,
    recorder,
  });
  const readers = startReaders({
    baseUrl,
    count: READERS,
    recorder,
    firstClient: PUBLISHERS,
    random,
    next: () => preferring(random, publishers),
  });
  await publishers.ready;
  const meanwhile = begin();
  const since = performance.now();
  const isEnough = () =>
    performance.now() - since >= enough.ms &&
    readers.pairs >= enough.pairs &&
    publishers.published.length >= enough.publications;
  try {
    await until(isEnough, {
      timeoutMs: 10 * enough.ms + 3 * LONGEST_OUTAGE_MS,
      everyMs: 100,
      what: 'enough publications',
    });
    await meanwhile.stop();
    await publishers.stop();
    await atRest(running);
    await readers.lookAt(publishers.published);
  } finally {
    await Promise.all([meanwhile.stop(), publishers.stop(), readers.stop()]);
  }
  return {
    pairs: readers.pairs,
    publications: publishers.published.length,
    events: recorder.events,
    unforeseen: [...publishers.unforeseen, ...readers.unforeseen],
  };
}

async function atRest(running: TestSystem): Promise<void> {
  const ledger = publicationLedger(running);
  await ledger.quiet();
  await ledger.close();
}

/** The next trouble waits until what died is back: the slower the machine, the longer. */
function kill(part: (typeof KILLED)[number], running: TestSystem): Trouble {
  const author = oneTryClient(running.baseUrl, running.token);
  const isBack = async (): Promise<boolean> => {
    const drafts = [
      await author.call('POST', '/records', { json: recordDocument('Probe') }),
      await author.call('POST', '/packages', { json: packageDocument('Probe') }),
    ];
    return drafts.every(({ status }) => status === 201);
  };
  return () => {
    running.faults.add(`${part}: kill -9`);
    running.kill(part, 'SIGKILL');
    return async () => {
      await until(isBack, { timeoutMs: LONGEST_OUTAGE_MS, everyMs: 200, what: `${part} after its death` });
    };
  };
}

async function started(options: SystemOptions): Promise<TestSystem> {
  system = await startSystem(options);
  return system;
}

describe('no reader sees half a package', () => {
  test('while services die and connections fail', async () => {
    const running = await started({ proxied: EDGES, settings: { publishLeaseMs: 3_000 } });
    const troubles: Trouble[] = [
      ...EDGES.map(
        (edge): Trouble =>
          (random) =>
            oneOf(random, troublesOf(running.proxy(edge)))(random),
      ),
      ...KILLED.map((part) => kill(part, running)),
    ];
    // A long line between decision and resources, so that there always is a moment between.
    running.proxy('packages to records').inflict({ kind: 'latency', ms: LINE_MS, direction: 'to server' });
    const begin = () => makeTrouble(seed, { troubles, everyMs: FAULT_EVERY_MS, log: running.faults });
    const enough = { ms: scaled(10_000, 300_000), pairs: scaled(200, 200_000), publications: PUBLISHERS };
    const { pairs, publications, events, unforeseen } = await watched(running, enough, begin);
    const violations = checkHistory(events);
    const faults = running.faults.lines();
    report(`${publications} publications, ${pairs} paired reads, ${faults.length} faults begun or ended`);
    expect({
      violations,
      unforeseen,
      faults: violations.length + unforeseen.length > 0 ? faults : 'as many as there were',
    }).toEqual({ violations: [], unforeseen: [], faults: 'as many as there were' });
  }, 5_400_000);

  test(`while it takes ${APPLY_MS} ms until the resources are notified`, async () => {
    const running = await started({
      environment: { FAILPOINT: `records.apply.before:pause:${APPLY_MS}` },
    });
    const enough = { ms: scaled(5_000, 60_000), pairs: scaled(200, 20_000), publications: PUBLISHERS };
    const { pairs, publications, events, unforeseen } = await watched(running, enough);
    const applied = await timesReached(running, 'records.apply.before');
    const reads = events.filter((event) => event.type === 'invoke' && event.call.do === 'read').length;
    report(
      `${publications} publications, ${pairs} paired reads; ${applied - publications} of ${reads} reads had to ` +
        'carry the decision out themselves',
    );
    expect({ violations: checkHistory(events), unforeseen, isSlowed: applied >= publications }).toEqual({
      violations: [],
      unforeseen: [],
      isSlowed: true,
    });
  }, 1_800_000);
});

async function timesReached({ logDir }: TestSystem, failpoint: string): Promise<number> {
  const log = await readFile(join(logDir, 'records.log'), 'utf8');
  return log.split(`"failpoint":"${failpoint}"`).length - 1;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openPython } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity } from '../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { publish } from '../e2e/story/stories.ts';

const FOLDER = join(import.meta.dirname, 'schemathesis');
/**
 * Maximum generated requests per operation. From ten on, all cases that its description implies are added.
 */
const EXAMPLES = Number(process.env['SCHEMATHESIS_EXAMPLES'] ?? 2);
const IS_FULL = EXAMPLES >= 10;
const PHASES = IS_FULL ? 'examples,coverage,fuzzing,stateful' : 'examples,fuzzing';
/** Entities of each kind and form; some are discarded by the way. */
const EACH = IS_FULL ? 40 : 4;
const MOST_MS = IS_FULL ? 3_600_000 : 900_000;

const schemathesis = await openPython(join(FOLDER, 'requirements.txt'));
let system: SharedSystem;
let running: ChildProcess | undefined;

async function entities(owner: HttpClient): Promise<Record<string, Record<string, string[]>>> {
  const made: Record<string, Record<string, string[]>> = {};
  for (const [kind, document] of Object.entries({ records: recordDocument, packages: packageDocument })) {
    const drafts: string[] = [];
    const published: string[] = [];
    for (let number = 0; number < EACH; number += 1) {
      const json = document(`Rivers ${number}`);
      drafts.push((await owner.sure<Entity>('POST', `/${kind}`, { json })).id);
      published.push((await publish(owner, await owner.sure<Entity>('POST', `/${kind}`, { json }))).id);
    }
    made[kind] = { drafts, published };
  }
  return made;
}

/** Exit code and report of one run as one principal. */
async function runAs(token: string | undefined, known: object, python: string) {
  const args = ['-m', 'schemathesis.cli', '--config-file', join(FOLDER, 'schemathesis.toml'), 'run'];
  const options = [
    // One worker: with several, Hypothesis loses entries of the cache in which it describes strategies (KeyError).
    ...['--phases', PHASES, '--workers', '1', '--seed', '1', '--no-color'],
    ...['--max-examples', String(EXAMPLES), '--request-timeout', '120'],
    ...(token === undefined ? [] : ['--header', `Authorization: Bearer ${token}`]),
  ];
  // Hypothesis writes a folder into its working directory.
  const folder = await mkdtemp(join(tmpdir(), 'kr-schemathesis-'));
  const child = spawn(python, [...args, `${system.baseUrl}/api/openapi.json`, ...options], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      PYTHONPATH: FOLDER,
      PYTHONDONTWRITEBYTECODE: '1',
      KR_ENTITIES: JSON.stringify(known),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running = child;
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  await rm(folder, { recursive: true });
  return {
    code,
    said: out.slice(Math.max(0, out.search(/^=+ (ERRORS|FAILURES) =+$/mu))).slice(0, 20_000) + err,
    generated: countIn(out),
  };
}

function countIn(said: string): number {
  return Number(/^ *([\d,]+) generated/m.exec(said)?.[1]?.replace(',', '') ?? 0);
}

if ('missing' in schemathesis) {
  test.skip(`requests made up from the description (${schemathesis.missing})`, () => {});
} else {
  const { python } = schemathesis;

  beforeAll(async () => {
    system = await sharedSystem();
  });
  afterAll(async () => {
    running?.kill('SIGKILL');
    await system?.stop();
  });

  test(
    'generated requests have the answers of the description, for any caller',
    async () => {
      const owner = httpClient(system.baseUrl, system.token);
      const stranger = (await system.createUser('stranger')).token;
      let requests = 0;
      for (const token of [system.token, stranger, undefined]) {
        const { code, said, generated } = await runAs(token, await entities(owner), python);
        requests += generated;
        if (code !== 0) throw new Error(said);
      }
      process.stdout.write(`${requests} requests made up from the description\n`);
      expect(requests).toBeGreaterThan(100);
    },
    MOST_MS,
  );
}

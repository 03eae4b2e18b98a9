import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, until } from '@kr/local-stack/backends';

/**
 * A process that lives as long as a run of Jest and starts a server when the first test needs it. Jest's workers cannot,
 * because Jest replaces them.
 */
export interface Keeper {
  /** Given to the keeper's process as its argument. */
  folder: string;
  pid: number;
}

export type KeptServer = 'elasticsearch' | 'system';

/** Files in the folder: a test that needs the server writes the first, the keeper answers with the second. */
const WANTED = 'wanted';
const STARTED = 'started.json';
const ENDED = 'ended';
export const KEEPER_LOG = 'keeper.log';
const LOG_CHARACTERS = 2_000;

/** The environment variable that names a keeper to Jest's workers. */
export function keeperVariable(server: KeptServer): string {
  return `TEST_KEEPER_OF_${server.toUpperCase()}`;
}

/** Undefined outside of Jest. */
export function keeperOf(server: KeptServer): Keeper | undefined {
  const text = process.env[keeperVariable(server)];
  return text === undefined ? undefined : JSON.parse(text);
}

/**
 * The program of a keeper: waits until a test needs the server, then starts it. `start` receives the folder and returns
 * what tests need to reach the server.
 */
export async function startWhenWanted(start: (folder: string) => Promise<object>): Promise<void> {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('the folder of the server is missing');
  const parent = process.ppid;
  // Not every operating system ends a process with its parent.
  setInterval(() => process.ppid === parent || process.exit(), 5_000);
  while (!existsSync(join(folder, WANTED))) await sleep(200);
  const started = JSON.stringify(await start(folder));
  await writeFile(join(folder, `${STARTED}.new`), started);
  await rename(join(folder, `${STARTED}.new`), join(folder, STARTED));
}

/** @throws Error with the end of the keeper's log if the keeper has ended */
export async function askKeeper<Started>({ folder, pid }: Keeper, timeoutMs: number): Promise<Started> {
  await writeFile(join(folder, WANTED), '');
  const answer = async () => {
    const isKept = isAlive(pid);
    const text = await readFile(join(folder, STARTED), 'utf8').catch(() => undefined);
    return text ?? (isKept ? undefined : ENDED);
  };
  const started = await until(answer, { timeoutMs, everyMs: 200, what: `the server in ${folder}` });
  if (started !== ENDED) return JSON.parse(started) as Started;
  throw new Error(`the keeper of the server has ended: ${await logOf(folder)}`);
}

/** The end of the keeper's log. */
export async function logOf(folder: string): Promise<string> {
  return (await readFile(join(folder, KEEPER_LOG), 'utf8')).slice(-LOG_CHARACTERS);
}

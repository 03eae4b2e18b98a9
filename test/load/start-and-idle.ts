import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@kr/local-stack/backends';
import { cpuMicroseconds, processTree } from '../bench/cpu-time.ts';
import { stateOf } from './processes.ts';

export interface StartFigures {
  firstSeconds: number;
  secondSeconds: number;
  idleSeconds: number;
  /** Of one processor. */
  idlePercent: number;
  idleOf: { what: string; percent: number; mebibytes: number }[];
  mebibytes: number;
}

const ROOT = resolve(import.meta.dirname, '../..');
const SETTLE_MS = 30_000;

/** Starts the system as people do, on an empty folder and again on the same one, and then leaves it alone. */
export async function measureStartAndIdle(
  idleSeconds: number,
  say: (line: string) => void,
): Promise<StartFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'kr-start-'));
  try {
    const first = await startCommand(folder);
    await stop(first.child);
    say(`first start: ${first.seconds.toFixed(1)} s`);
    const second = await startCommand(folder);
    say(`second start: ${second.seconds.toFixed(1)} s; now it is left alone …`);
    try {
      await sleep(SETTLE_MS);
      return {
        firstSeconds: first.seconds,
        secondSeconds: second.seconds,
        ...(await idle(second.child, idleSeconds)),
      };
    } finally {
      await stop(second.child);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function startCommand(folder: string): Promise<{ child: ChildProcess; seconds: number }> {
  const port = String(await freePort());
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [join(ROOT, 'deploy/local/bootstrap.mjs'), 'start', '--data-dir', folder, '--port', port],
    { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('Ready after')) {
      child.stdout.resume();
      return { child, seconds: (performance.now() - began) / 1_000 };
    }
  }
  throw new Error('the start command ended before the system was ready');
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

async function idle(child: ChildProcess, seconds: number) {
  const root = child.pid ?? 0;
  // The supervisor, and each of its children with all of theirs.
  const groups = new Map([['supervisor', [root]]]);
  for (const pid of processTree(root).slice(1)) {
    const name = nameOf(pid);
    groups.set(name, [...(groups.get(name) ?? []), pid]);
  }
  const before = new Map([...groups].map(([name, pids]) => [name, cpuMicroseconds(pids)]));
  await sleep(seconds * 1_000);
  const idleOf = [...groups].map(([what, pids]) => ({
    what,
    percent: (cpuMicroseconds(pids) - (before.get(what) ?? 0)) / (seconds * 10_000),
    mebibytes: stateOf(pids).mebibytes,
  }));
  const sum = (of: (one: (typeof idleOf)[number]) => number) =>
    idleOf.reduce((total, one) => total + of(one), 0);
  return {
    idleSeconds: seconds,
    idlePercent: sum(({ percent }) => percent),
    mebibytes: sum(({ mebibytes }) => mebibytes),
    idleOf,
  };
}

/** The name of a process of the system, from its command line. */
function nameOf(pid: number): string {
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  return (
    /services\/([a-z-]+)\/src\/main\.ts/.exec(command)?.[1] ?? /postgres|nats/.exec(command)?.[0] ?? 'other'
  );
}

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawnAttached } from '../backends/attached-process.ts';
import type { Program } from '../backends/program.ts';
import { until } from '../backends/until.ts';
import { SupervisedPart } from './supervised-part.ts';

describe('supervised part', () => {
  let folder: string;
  let messages: string[];
  let launched: number[];
  let part: SupervisedPart | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kr-supervision-'));
    messages = [];
    launched = [];
  });
  afterEach(async () => {
    await part?.stop(1_000);
    await rm(folder, { recursive: true, force: true });
  });

  /** Ready once it has printed "up". */
  function scripted(script: string): Program {
    const logFile = join(folder, 'part.log');
    return {
      name: 'part',
      logFile,
      stopSignal: 'SIGTERM',
      launch: (further) =>
        spawnAttached({
          command: 'sh',
          args: ['-c', script],
          logFile,
          stopSignal: 'SIGTERM',
          env: { ...process.env, ...further },
        }),
      isReady: async () => (await readFile(logFile, 'utf8')).includes('up'),
    };
  }

  function supervise(script: string): SupervisedPart {
    part = new SupervisedPart(scripted(script), {
      onLaunch: (_, pid) => launched.push(pid),
      onProgress: (sentence) => messages.push(sentence.replaceAll(folder, '…')),
    });
    return part;
  }

  test('starts a killed program again, as often as it is killed', async () => {
    const supervised = supervise('echo up; exec sleep 60');
    await supervised.start();
    for (const round of [1, 2]) {
      supervised.kill('SIGKILL');
      await until(() => messages.filter((sentence) => sentence === 'part is back').length === round);
    }
    expect({ messages, differ: new Set(launched).size, current: supervised.pid === launched[2] }).toEqual({
      messages: Array(2)
        .fill(['part ended (signal SIGKILL); starting it again. Its log: …/part.log', 'part is back'])
        .flat(),
      differ: 3,
      current: true,
    });
  });

  test('starts each of the next processes with its own variables', async () => {
    const log = () => readFile(join(folder, 'part.log'), 'utf8');
    const supervised = supervise('echo "up $FURTHER"; exec sleep 60');
    await supervised.start();
    await supervised.relaunch({ FURTHER: 'one' }, { FURTHER: 'two' });
    for (const word of ['one', 'two']) {
      await until(async () => (await log()).endsWith(`${word}\n`));
      supervised.kill('SIGKILL');
    }
    await until(async () => (await log()).endsWith('two\nup \n'));
    expect(await log()).toBe('up \nup one\nup two\nup \n');
  });

  test('names the part, the reason, the log and its last lines when the first start fails', async () => {
    const starting = supervise('echo one; echo "no such table" >&2; exit 3').start();
    await expect(starting).rejects.toThrow(
      `part did not start (exit code 3). Its log is ${folder}/part.log; the last lines:\n  one\n  no such table`,
    );
  });

  test('reports that a program cannot be found', async () => {
    const program = scripted('true');
    const missing = {
      ...program,
      launch: () =>
        spawnAttached({
          command: '/nowhere',
          args: [],
          logFile: program.logFile,
          stopSignal: 'SIGTERM',
          env: {},
        }),
    };
    part = new SupervisedPart(missing, { onLaunch: () => undefined, onProgress: () => undefined });
    await expect(part.start()).rejects.toThrow(/^part did not start \(/);
  });

  test('kills a program that does not stop in time', async () => {
    const supervised = supervise('trap "" TERM; echo up; while true; do sleep 0.1; done');
    await supervised.start();
    const began = Date.now();
    await supervised.stop(300);
    expect({ pid: supervised.pid, inTime: Date.now() - began < 30_000, messages }).toEqual({
      pid: undefined,
      inTime: true,
      messages: [],
    });
  });

  test('stays down when it is stopped while it waits to start again', async () => {
    const supervised = supervise('echo up; sleep 2');
    await supervised.start();
    await until(() => messages.length > 0);
    await supervised.stop(1_000);
    const atStop = launched.length;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect({ launched: launched.length, pid: supervised.pid }).toEqual({ launched: atStop, pid: undefined });
  });
});

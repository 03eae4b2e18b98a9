import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { processIdentity } from '../backends/process-table.ts';
import { AlreadyRunning, openProcessList } from './process-list.ts';

describe('process list', () => {
  let folder: string;
  let file: string;
  let sleeper: ChildProcess;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kr-processes-'));
    file = join(folder, 'processes.json');
    sleeper = spawn('sleep', ['60'], { stdio: 'ignore' });
  });
  afterEach(async () => {
    sleeper.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  const identified = (pid: number) => ({ pid, identity: processIdentity(pid) });
  const left = (supervisor: unknown, parts: unknown) =>
    writeFile(file, JSON.stringify({ supervisor, parts }));
  const gone = { pid: 4_000_000, identity: 'boot/1' };

  test('refuses a folder whose supervisor lives', async () => {
    await left(identified(sleeper.pid ?? 0), {});
    await expect(openProcessList(file)).rejects.toEqual(new AlreadyRunning(sleeper.pid ?? 0));
  });

  test('ends the processes of a killed supervisor', async () => {
    await left(gone, { records: identified(sleeper.pid ?? 0) });
    await openProcessList(file);
    expect(processIdentity(sleeper.pid ?? 0)).toBeUndefined();
  });

  test('spares a stranger who got the process id of a part', async () => {
    await left(gone, { records: { pid: sleeper.pid, identity: 'boot/1' } });
    await openProcessList(file);
    expect(processIdentity(sleeper.pid ?? 0)).toBeDefined();
  });

  test('ignores a truncated file', async () => {
    await writeFile(file, '{"supervisor": {"pi');
    const list = await openProcessList(file);
    list.add('records', sleeper.pid ?? 0);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
      supervisor: identified(process.pid),
      parts: { records: identified(sleeper.pid ?? 0) },
    });
  });
});

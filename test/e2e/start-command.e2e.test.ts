import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '@kr/local-stack/backends';
import { until } from '@kr/testbed';

const program = resolve(import.meta.dirname, '../../deploy/local/src/main.ts');

interface Started {
  process: ChildProcess;
  /** Everything printed so far. */
  output(): string;
  exit: Promise<number | null>;
}

function start(...args: string[]): Started {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += String(chunk)));
  const exit = new Promise<number | null>((settle) => child.once('exit', (code) => settle(code)));
  return { process: child, output: () => text, exit };
}

async function untilReady(started: Started): Promise<void> {
  const isSettled = () => started.output().includes('Ready after') || started.process.exitCode !== null;
  await until(isSettled, { timeoutMs: 180_000 });
  if (started.process.exitCode !== null) throw new Error(started.output());
}

/** Ids of the living processes that name the folder on their command line or in their environment. */
async function processesOf(folder: string): Promise<string[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const hits = await Promise.all(
    ids.map(async (id) => {
      const parts = ['cmdline', 'environ'].map((file) =>
        readFile(`/proc/${id}/${file}`, 'utf8').catch(() => ''),
      );
      return (await Promise.all(parts)).some((text) => text.includes(folder)) ? [id] : [];
    }),
  );
  return hits.flat().filter((id) => id !== String(process.pid));
}

describe('the start command', () => {
  let folder: string;
  let port: number;
  let running: Started;
  const readJson = async (name: string) => JSON.parse(await readFile(join(folder, name), 'utf8'));

  const isServing = async (): Promise<boolean> => {
    const { base_url, token } = await readJson('credentials.json');
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${base_url}/api/user/packages`, { headers })).status === 200;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kr-start-command-'));
    port = await freePort();
    running = start('--data-dir', folder, '--port', String(port));
    await untilReady(running);
  });
  afterAll(async () => {
    running.process.kill('SIGKILL');
    await until(async () => (await processesOf(folder)).length === 0);
    await rm(folder, { recursive: true, force: true });
  });

  test('prints the base URL, a token and a first command that works', async () => {
    const { base_url, user, token } = await readJson('credentials.json');
    const command = `curl -H "Authorization: Bearer ${token}" ${base_url}/api/user/packages`;
    const answer = await fetch(`${base_url}/api/user/packages`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect({
      base_url,
      user,
      printed: running.output().includes(command),
      status: answer.status,
    }).toEqual({ base_url: `http://127.0.0.1:${port}`, user: 'demo', printed: true, status: 200 });
  });

  test('keeps its secrets from others', async () => {
    const files = ['credentials.json', 'secrets.json', 'runtime.json', 'processes.json'];
    const modes = await Promise.all(files.map(async (name) => (await stat(join(folder, name))).mode & 0o777));
    expect(modes).toEqual(files.map(() => 0o600));
  });

  test('reports that it runs already', async () => {
    const second = start('--data-dir', folder, '--port', String(port));
    expect({ code: await second.exit, output: second.output() }).toEqual({
      code: 1,
      output: expect.stringContaining(
        `It is already running on this data directory at http://127.0.0.1:${port} (process ${running.process.pid}).`,
      ),
    });
  });

  test('names a taken port and what to do', async () => {
    const taken = await freePort();
    const owner = createServer().listen(taken, '127.0.0.1');
    const other = await mkdtemp(join(tmpdir(), 'kr-start-command-'));
    const second = start('--data-dir', other, '--port', String(taken));
    const code = await second.exit;
    owner.close();
    await rm(other, { recursive: true, force: true });
    expect({ code, output: second.output() }).toEqual({
      code: 1,
      output: expect.stringContaining(`Port ${taken} is taken by another program.`),
    });
  });

  test('names a data directory that cannot be one', async () => {
    const file = join(folder, 'secrets.json');
    const second = start('--data-dir', file, '--port', String(await freePort()));
    expect({ code: await second.exit, output: second.output() }).toEqual({
      code: 1,
      output: expect.stringContaining(`${file} cannot be the data directory: EEXIST`),
    });
  });

  test('starts every killed service again', async () => {
    const before = (await readJson('runtime.json')).services;
    for (const { pid } of Object.values<{ pid: number }>(before)) process.kill(pid, 'SIGKILL');
    await until(() => Object.keys(before).every((name) => running.output().includes(`${name} is back`)));
    await until(isServing);
  });

  test('leaves no process when the supervisor is killed, and starts again on the same data', async () => {
    running.process.kill('SIGKILL');
    if (process.platform === 'linux') {
      await until(async () => (await processesOf(folder)).length === 0);
    }
    running = start('--data-dir', folder, '--port', String(port));
    await untilReady(running);
    await until(isServing);
    const { token } = await readJson('credentials.json');
    expect(running.output()).not.toContain(token);
  });

  test('stops everything and leaves no process', async () => {
    running.process.kill('SIGINT');
    const code = await running.exit;
    expect({ code, left: await processesOf(folder) }).toEqual({ code: 0, left: [] });
  });
});

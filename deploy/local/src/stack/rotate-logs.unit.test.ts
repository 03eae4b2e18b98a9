import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { until } from '../backends/until.ts';
import { rotateLogs, startLogRotation } from './rotate-logs.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-logs-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const read = (name: string) => readFile(join(folder, name), 'utf8');

test('a log above the limit is emptied while its program continues to write', async () => {
  const log = await open(join(folder, 'search.log'), 'a');
  await log.write('a long line\n');
  await rotateLogs(folder, 5);
  await log.write('more\n');
  await log.close();
  expect([await read('search.log'), await read('search.log.1')]).toEqual(['more\n', 'a long line\n']);
});

test('one earlier copy is stored; small logs and other files do not change', async () => {
  await writeFile(join(folder, 'nats.log'), 'short');
  await writeFile(join(folder, 'notes.txt'), 'long enough to be rotated');
  await writeFile(join(folder, 'files.log.1'), 'the copy before the last');
  await writeFile(join(folder, 'files.log'), 'the last copy');
  await rotateLogs(folder, 5);
  expect((await readdir(folder)).sort()).toEqual(['files.log', 'files.log.1', 'nats.log', 'notes.txt']);
  expect([await read('files.log.1'), await read('nats.log')]).toEqual(['the last copy', 'short']);
});

test('logs are checked until the system stops, also after a check has failed', async () => {
  const stopping = new AbortController();
  const failures: string[] = [];
  const missing = join(folder, 'logs');
  const rotating = startLogRotation(missing, {
    onProgress: (sentence) => failures.push(sentence),
    signal: stopping.signal,
    intervalMs: 1,
  });
  await until(() => failures.length > 1, { what: 'two failed checks' });
  stopping.abort();
  await rotating;
  expect(failures[0]).toContain(`The logs in ${missing} could not be rotated`);
});

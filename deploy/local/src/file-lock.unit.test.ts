import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

const MODULE = resolve(import.meta.dirname, '../file-lock.mjs');
const PROCESSES = 6;
const ROUNDS = 50;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-lock-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Counts in a file up under the lock, reading and writing in two steps: without the lock, counts are lost. */
async function countUp(rounds: number): Promise<void> {
  const script = `
    const { withLock } = await import(${JSON.stringify(MODULE)});
    const { readFileSync, writeFileSync } = await import('node:fs');
    const [lock, counter] = ${JSON.stringify([join(folder, 'lock'), join(folder, 'counter')])};
    for (let round = 0; round < ${rounds}; round += 1) withLock(lock, () => {
      const count = Number(readFileSync(counter, 'utf8'));
      writeFileSync(counter, String(count + 1));
    }, { retryMs: 1 });`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
}

test('only one process works at a time', async () => {
  await writeFile(join(folder, 'counter'), '0');
  await Promise.all(Array.from({ length: PROCESSES }, () => countUp(ROUNDS)));
  expect(await readFile(join(folder, 'counter'), 'utf8')).toBe(String(PROCESSES * ROUNDS));
  expect(await readdir(folder)).toEqual(['counter']);
});

test('only one of several processes takes over the lock of a process that ended', async () => {
  for (let repetition = 0; repetition < 3; repetition += 1) {
    await writeFile(join(folder, 'counter'), '0');
    await writeFile(join(folder, 'lock'), '999999999');
    await Promise.all(Array.from({ length: PROCESSES }, () => countUp(10)));
    expect(await readFile(join(folder, 'counter'), 'utf8')).toBe(String(PROCESSES * 10));
  }
});

test.each([
  ['a process that is gone', '999999999'],
  ['a process that could not write it', ''],
])('the lock of %s is removed', async (_owner, content) => {
  await writeFile(join(folder, 'counter'), '0');
  await writeFile(join(folder, 'lock'), content);
  await countUp(1);
  expect(await readdir(folder)).toEqual(['counter']);
});

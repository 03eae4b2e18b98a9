import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const run = (...args: string[]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], { encoding: 'utf8' });

test.each([[['--help']], [['operator', '--help']]])('%j prints help', (args) => {
  const { status, stdout } = run(...args);
  expect([status, stdout]).toEqual([0, expect.stringContaining('npm run deploy -- ')]);
});

test('an unknown command prints help as an error', () => {
  const { status, stderr } = run('nothing');
  expect([status, stderr]).toEqual([2, expect.stringContaining('npm run deploy -- ')]);
});

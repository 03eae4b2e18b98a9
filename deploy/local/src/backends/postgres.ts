import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasEnded, spawnAttached, stopProcess } from './attached-process.ts';
import { type ForeignUser, findForeignUser } from './foreign-user.ts';
import { freePort } from './free-port.ts';
import { endLeftover } from './leftover.ts';
import { logTail } from './log-tail.ts';
import { findPostgresPrograms, type PostgresPrograms } from './postgres-programs.ts';
import { until } from './until.ts';

export interface PostgresOptions {
  /** Made and initialised when it does not exist yet. */
  dataDir: string;
  logFile: string;
  password: string;
  /** `safe` survives a power cut; `fast` is for databases that nobody misses. */
  durability: 'safe' | 'fast';
  port?: number;
}

export interface RunningPostgres {
  /** Superuser URL of the maintenance database. */
  url: string;
  port: number;
  child: ChildProcess;
  stop(): Promise<void>;
}

const SETTINGS = {
  always: {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '100',
    jit: 'off',
    huge_pages: 'off',
    io_method: 'sync',
    max_logical_replication_workers: '0',
    max_wal_senders: '0',
    wal_level: 'minimal',
    autovacuum_max_workers: '2',
    log_min_messages: 'warning',
  },
  safe: { shared_buffers: '32MB', fsync: 'on', synchronous_commit: 'on', max_wal_size: '256MB' },
  fast: {
    shared_buffers: '64MB',
    max_connections: '300',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_wal_size: '2GB',
  },
} as const;

/** Starts the embedded Postgres on a port of the loopback interface and waits until it accepts connections. */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const programs = await findPostgresPrograms();
  const user = findForeignUser([programs.postgres, options.dataDir]);
  await initialiseOnce(programs, options, user);
  await endLeftover(join(options.dataDir, 'postmaster.pid'), options.dataDir, 'SIGINT');
  const port = options.port ?? (await freePort());
  const child = await launch(programs, options, user, port);
  return {
    url: `postgresql://postgres:${encodeURIComponent(options.password)}@127.0.0.1:${port}/postgres`,
    port,
    child,
    stop: () => stopProcess(child, 'SIGINT', 3_000),
  };
}

async function launch(
  programs: PostgresPrograms,
  options: PostgresOptions,
  user: ForeignUser | undefined,
  port: number,
): Promise<ChildProcess> {
  const settings = { ...SETTINGS.always, ...SETTINGS[options.durability] };
  const child = spawnAttached({
    command: programs.postgres,
    args: [
      '-D',
      options.dataDir,
      '-p',
      String(port),
      ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
    ],
    logFile: options.logFile,
    env: postgresEnvironment(),
    cwd: options.dataDir,
    stopSignal: 'SIGINT',
    ...(user === undefined ? {} : { user }),
  });
  await until(() => hasEnded(child) || acceptsConnections(options.dataDir, child.pid), {
    timeoutMs: 30_000,
    what: 'Postgres to accept connections',
  });
  if (hasEnded(child)) {
    throw new Error(
      `Postgres did not start. Its log is ${options.logFile} and ends:\n${await logTail(options.logFile)}`,
    );
  }
  return child;
}

async function initialiseOnce(
  programs: PostgresPrograms,
  options: PostgresOptions,
  user: ForeignUser | undefined,
): Promise<void> {
  const done = await readFile(join(options.dataDir, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (done !== undefined) return;
  await mkdir(options.dataDir, { recursive: true });
  const passwordFile = `${options.dataDir}.${randomBytes(4).toString('hex')}.password`;
  await writeFile(passwordFile, options.password, { mode: 0o600 });
  if (user !== undefined) {
    await chown(options.dataDir, user.uid, user.gid);
    await chown(passwordFile, user.uid, user.gid);
  }
  try {
    await initialise(programs, options, user, passwordFile);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function initialise(
  programs: PostgresPrograms,
  options: PostgresOptions,
  user: ForeignUser | undefined,
  passwordFile: string,
): Promise<void> {
  const child = spawnAttached({
    command: programs.initdb,
    args: [
      `--pgdata=${options.dataDir}`,
      `--pwfile=${passwordFile}`,
      '--username=postgres',
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
      ...(options.durability === 'fast' ? ['--no-sync'] : []),
    ],
    logFile: options.logFile,
    env: postgresEnvironment(),
    stopSignal: 'SIGTERM',
    ...(user === undefined ? {} : { user }),
  });
  await new Promise((resolve) => child.once('close', resolve).once('error', resolve));
  if (child.exitCode === 0) return;
  await rm(options.dataDir, { recursive: true, force: true });
  throw new Error(
    `Postgres could not initialise ${options.dataDir}. Its log is ${options.logFile} and ends:\n${await logTail(options.logFile)}`,
  );
}

/** The last line of `postmaster.pid` says when the server is ready (source: pg_ctl). */
async function acceptsConnections(dataDir: string, pid: number | undefined): Promise<boolean> {
  const lines = (await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  return lines[0] === String(pid) && lines[7]?.trim() === 'ready';
}

function postgresEnvironment(): Record<string, string | undefined> {
  return { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' };
}

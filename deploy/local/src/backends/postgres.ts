import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spawnAttached, stopProcess } from './attached-process.ts';
import { type ForeignUser, findForeignUser } from './foreign-user.ts';
import { freePort } from './free-port.ts';
import { endLeftover } from './leftover.ts';
import { logTail } from './log-tail.ts';
import { findPostgresPrograms, type PostgresPrograms } from './postgres-programs.ts';
import { type Program, runProgram } from './program.ts';
import { isSharedMemoryInUse } from './shared-memory.ts';
import { until } from './until.ts';

export interface PostgresOptions {
  /** Made and initialised when it does not exist yet. */
  dataDir: string;
  logFile: string;
  password: string;
  /** `safe` survives a power cut; `fast` is for disposable databases. */
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
    max_connections: '600',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_wal_size: '2GB',
  },
} as const;

/** Starts the embedded Postgres on a port of the loopback interface and waits until it accepts connections. */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const port = options.port ?? (await freePort());
  const program = await preparePostgres({ ...options, port });
  const child = await runProgram(program);
  return {
    url: postgresUrl(options.password, port),
    port,
    child,
    stop: () => stopProcess(child, 'SIGINT', 3_000),
  };
}

/** Initialises the data folder when it is new and describes how to run the server on it. */
export async function preparePostgres(options: PostgresOptions & { port: number }): Promise<Program> {
  const programs = await findPostgresPrograms();
  const user = findForeignUser([programs.postgres, options.dataDir]);
  await initialiseOnce(programs, options, user);
  const settings = { ...SETTINGS.always, ...SETTINGS[options.durability] };
  const flags = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  return {
    name: 'Postgres',
    logFile: options.logFile,
    stopSignal: 'SIGINT',
    beforeLaunch: () => clearLeftovers(options.dataDir),
    launch: () =>
      spawnAttached({
        command: programs.postgres,
        args: ['-D', options.dataDir, '-p', String(options.port), ...flags],
        logFile: options.logFile,
        env: postgresEnvironment(),
        cwd: options.dataDir,
        stopSignal: 'SIGINT',
        ...(user === undefined ? {} : { user }),
      }),
    isReady: (child) => acceptsConnections(options.dataDir, child.pid),
  };
}

/** Superuser URL of the maintenance database. */
export function postgresUrl(password: string, port: number): string {
  return `postgresql://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
}

/**
 * A killed server leaves its pid file, and for a moment its workers, which hold the shared memory that the next server
 * needs for itself.
 */
async function clearLeftovers(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, 'postmaster.pid');
  const lines = (await readFile(pidFile, 'utf8').catch(() => '')).split('\n');
  await endLeftover(pidFile, dataDir, 'SIGINT');
  const memoryId = lines[6]?.trim().split(/\s+/)[1];
  if (memoryId !== undefined)
    await until(() => !isSharedMemoryInUse(memoryId), {
      timeoutMs: 5_000,
      what: 'the workers of the killed Postgres to end',
    });
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

/** The last line of `postmaster.pid` is `ready` when the server is (source: pg_ctl). */
async function acceptsConnections(dataDir: string, pid: number | undefined): Promise<boolean> {
  const lines = (await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  return lines[0] === String(pid) && lines[7]?.trim() === 'ready';
}

function postgresEnvironment(): Record<string, string | undefined> {
  return { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' };
}

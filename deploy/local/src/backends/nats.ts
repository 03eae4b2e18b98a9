import type { ChildProcess } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { writePrivateFile } from '../private-file.ts';
import { spawnAttached, stopProcess } from './attached-process.ts';
import { freePort } from './free-port.ts';
import { endLeftover } from './leftover.ts';
import { findNatsServer } from './nats-server-program.ts';
import { type Program, runProgram } from './program.ts';

export interface NatsOptions {
  /** Holds the configuration and the streams; made when it does not exist yet. */
  dataDir: string;
  logFile: string;
  /** Folder of a fetched server. */
  toolchainDir: string;
  /** `safe` writes every message through to the disk before it is acknowledged. */
  durability: 'safe' | 'fast';
  port?: number;
  /** Users that may connect; by default every client that reaches the port. */
  users?: readonly NatsUser[];
  /** Called before a slow step. */
  onProgress?: (sentence: string) => void;
}

/** A user in the form of the server's configuration (NATS documentation, "Authorization"). */
export interface NatsUser {
  user: string;
  password: string;
  /** Default: all. */
  permissions?: NatsPermissions;
}

export interface NatsPermissions {
  publish: { allow: string[] } | { deny: string[] };
  subscribe: { allow: string[] };
}

export interface RunningNats {
  url: string;
  port: number;
  child: ChildProcess;
  stop(): Promise<void>;
}

/** Starts a NATS server with JetStream on a port of the loopback interface and waits until it takes connections. */
export async function startNats(options: NatsOptions): Promise<RunningNats> {
  const port = options.port ?? (await freePort());
  const child = await runProgram(await prepareNats({ ...options, port }));
  return { url: natsUrl(port), port, child, stop: () => stopProcess(child, 'SIGTERM', 3_000) };
}

/** Finds the server, writes its configuration and describes how to run it. */
export async function prepareNats(options: NatsOptions & { port: number }): Promise<Program> {
  const program = await findNatsServer(options.toolchainDir, options.onProgress);
  const configFile = join(options.dataDir, 'nats.conf');
  await mkdir(options.dataDir, { recursive: true });
  await writePrivateFile(configFile, configuration(options, options.port));
  return {
    name: 'NATS',
    logFile: options.logFile,
    stopSignal: 'SIGTERM',
    beforeLaunch: () => endLeftover(join(options.dataDir, 'nats.pid'), configFile, 'SIGTERM'),
    launch: () =>
      spawnAttached({
        command: program,
        args: ['--config', configFile],
        logFile: options.logFile,
        env: { PATH: process.env['PATH'], GOMEMLIMIT: '96MiB', GOGC: '50' },
        stopSignal: 'SIGTERM',
      }),
    isReady: () => sendsInfo(options.port),
  };
}

export function natsUrl(port: number, { user, password }: Partial<NatsUser> = {}): string {
  return `nats://${user === undefined ? '' : `${user}:${password}@`}127.0.0.1:${port}`;
}

function configuration(options: NatsOptions, port: number): string {
  const storage = [
    `store_dir: ${JSON.stringify(join(options.dataDir, 'store'))}`,
    'max_memory_store: 64MB',
    'max_file_store: 8GB',
    ...(options.durability === 'safe' ? ['sync_interval: always'] : []),
  ];
  return [
    `listen: "127.0.0.1:${port}"`,
    `pid_file: ${JSON.stringify(join(options.dataDir, 'nats.pid'))}`,
    'max_payload: 1MB',
    `jetstream { ${storage.join(', ')} }`,
    ...(options.users === undefined
      ? []
      : [`authorization: ${JSON.stringify({ users: options.users }, undefined, 2)}`]),
    '',
  ].join('\n');
}

/** A server that is up sends its INFO line first (source: NATS client protocol). */
function sendsInfo(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (up: boolean): void => {
      socket.destroy();
      resolve(up);
    };
    socket.setTimeout(1_000, () => answer(false));
    socket.once('error', () => answer(false));
    socket.once('data', (data) => answer(data.toString().startsWith('INFO ')));
  });
}

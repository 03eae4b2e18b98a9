import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The same work with plain tools: `md5sum`, `cp`, and an fsync of the copy. */
export async function copyByTools(source: string, target: string): Promise<void> {
  await run('md5sum', [source]);
  await run('cp', [source, target]);
  await run('sync', [target]);
}

/** Sends the files of one folder, and does nothing else. */
export interface StaticServer {
  name: 'nginx' | 'bare Node';
  urlOf(file: string): string;
  stop(): void;
}

/** nginx where there is one, else Node's `http` with a stream; either in its own process. */
export async function startStaticServer(folder: string): Promise<StaticServer> {
  const nginx = await programOnPath('nginx');
  return nginx === undefined ? startNode(folder) : startNginx(nginx, folder);
}

async function startNode(folder: string): Promise<StaticServer> {
  const child = fork(fileURLToPath(new URL('./static-server.ts', import.meta.url)), [folder]);
  const [port] = (await once(child, 'message')) as [number];
  return serverOf('bare Node', port, child);
}

async function startNginx(program: string, folder: string): Promise<StaticServer> {
  const place = join(folder, '.nginx');
  await mkdir(place, { recursive: true });
  const port = await freePort();
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(place, name)};`,
  );
  // Its worker must be able to read a private folder.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const configuration = `
${user} daemon off; worker_processes 1; pid ${join(place, 'pid')}; error_log stderr error;
events {}
http {
  access_log off; sendfile on; ${paths.join(' ')}
  server { listen 127.0.0.1:${port}; root ${folder}; }
}`;
  await writeFile(join(place, 'nginx.conf'), configuration);
  const child = spawn(program, ['-p', place, '-c', join(place, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await listening(port, child);
  return serverOf('nginx', port, child);
}

function serverOf(name: StaticServer['name'], port: number, child: ChildProcess): StaticServer {
  return {
    name,
    urlOf: (file) => `http://127.0.0.1:${port}/${basename(file)}`,
    stop: () => void child.kill(),
  };
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    if (answer !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nginx ended with ${child.exitCode}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}

async function programOnPath(name: string): Promise<string | undefined> {
  const places = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  for (const place of places) {
    const program = join(place, name);
    const isThere = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return program;
  }
  return undefined;
}

import { link, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { SupervisedPart } from '../stack/supervised-part.ts';
import { freePort } from './free-port.ts';
import { prepareNats } from './nats.ts';
import { postgresUrl, preparePostgres } from './postgres.ts';
import { until } from './until.ts';

const toolchainDir = resolve(import.meta.dirname, '../../../../.toolchain');

describe('backends', () => {
  let folder: string;
  let parts: SupervisedPart[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kr-backends-'));
    parts = [];
  });
  afterEach(async () => {
    await Promise.all(parts.map((part) => part.stop(2_000)));
    await rm(folder, { recursive: true, force: true });
  });

  function supervise(program: ConstructorParameters<typeof SupervisedPart>[0]): SupervisedPart {
    const part = new SupervisedPart(program, { onLaunch: () => undefined, onProgress: () => undefined });
    parts.push(part);
    return part;
  }

  async function query(url: string, statement: string): Promise<unknown[]> {
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(statement)).rows;
    } finally {
      await client.end();
    }
  }

  async function postgres(port: number, within = folder) {
    return preparePostgres({
      dataDir: join(within, 'postgres'),
      logFile: join(within, 'postgres.log'),
      password: 'p@ss/word',
      durability: 'safe',
      port,
    });
  }

  test('a killed Postgres restarts with the committed data', async () => {
    const port = await freePort();
    const url = postgresUrl('p@ss/word', port);
    const part = supervise(await postgres(port));
    await part.start();
    await query(url, 'CREATE TABLE kept AS SELECT 1 AS one');
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    const before = part.pid;
    part.kill('SIGKILL');
    const rows = await until(() => query(url, 'SELECT one FROM kept'));
    expect({ rows, another: part.pid !== before }).toEqual({ rows: [{ one: 1 }], another: true });
  });

  test('Postgres starts over the pid file of a killed one, also when the id now belongs to another process', async () => {
    const port = await freePort();
    const first = supervise(await postgres(port));
    await first.start();
    await first.stop(3_000);
    await writeFile(
      join(folder, 'postgres/postmaster.pid'),
      `${process.pid}\n${folder}/postgres\n1\n${port}\n`,
    );
    const second = supervise(await postgres(port));
    await second.start();
    expect(await query(postgresUrl('p@ss/word', port), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('Postgres runs for root in a folder that is closed to others', async () => {
    const closed = join(folder, 'closed');
    await mkdir(closed, { mode: 0o700 });
    const port = await freePort();
    const part = supervise(await postgres(port, closed));
    await part.start();
    expect(await query(postgresUrl('p@ss/word', port), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('a killed NATS restarts on its port', async () => {
    const port = await freePort();
    const options = { dataDir: join(folder, 'nats'), logFile: join(folder, 'nats.log'), toolchainDir, port };
    const program = await prepareNats({ ...options, durability: 'safe' });
    const part = supervise(program);
    await part.start();
    const before = part.pid;
    part.kill('SIGKILL');
    await until(
      async () =>
        part.pid !== undefined && part.pid !== before && (await program.isReady(Object.create(null))),
    );
    expect(part.pid).not.toBe(before);
  });

  test('passwords for NATS are at no moment in a file that others may read', async () => {
    const dataDir = join(folder, 'nats');
    const [written, old] = [join(dataDir, 'nats.conf'), join(folder, 'nats.conf of an earlier release')];
    await mkdir(dataDir);
    await writeFile(written, 'listen: "127.0.0.1:1"', { mode: 0o644 });
    // Writes into the file, not to a replacement, are visible here too.
    await link(written, old);
    const users = [{ user: 'records', password: 'secret' }];
    const options = { dataDir, logFile: join(folder, 'nats.log'), toolchainDir, durability: 'safe' } as const;
    await prepareNats({ ...options, port: 1, users });
    expect(await readFile(written, 'utf8')).toContain('"secret"');
    expect((await stat(written)).mode & 0o777).toBe(0o600);
    expect(await readFile(old, 'utf8')).toBe('listen: "127.0.0.1:1"');
  });
});

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { dropDatabases, loadSecrets, type Secrets } from '@kr/local-stack';
import { findNatsServer } from '@kr/local-stack/backends';
import { type FreshDatabase, freshDatabase } from '@kr/testbed';
import { Client } from 'pg';
import { parse } from 'yaml';
import { busAuthorization, busConfiguration } from './bus-authorization.ts';
import { databaseScript } from './database-script.ts';
import { serviceSecrets } from './service-secrets.ts';

const TOOLCHAIN = resolve(import.meta.dirname, '../../../.toolchain');
let folder: string;
let secrets: Secrets;
let database: FreshDatabase;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-backends-'));
  secrets = await loadSecrets(join(folder, 'secrets.json'));
  database = await freshDatabase();
});
afterAll(async () => {
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

async function ask(url: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

test('the script for Postgres lets each service into its own database and no other', async () => {
  const prefix = `t${randomBytes(6).toString('hex')}`;
  const script = databaseScript(secrets, prefix);
  try {
    await ask(database.url, ...script.trim().split('\n'));
    const urlOf = (service: 'records' | 'search') =>
      serviceSecrets(service, secrets, { postgres: database.url, nats: 'nats://nats' }, prefix)[
        'DATABASE_URL'
      ] ?? '';
    await ask(urlOf('records'), 'CREATE TABLE a (b int)');
    const other = new URL(urlOf('records'));
    other.pathname = new URL(urlOf('search')).pathname;
    await expect(ask(other.href, 'SELECT 1')).rejects.toThrow(/permission denied for database/);
  } finally {
    await dropDatabases(database.url, prefix);
  }
});

test('the configuration of NATS is one to the server', async () => {
  const path = await findNatsServer(TOOLCHAIN);
  const file = join(folder, 'nats.conf');
  await writeFile(file, busConfiguration(secrets));
  await promisify(execFile)(path, ['--config', file, '-t']);
  await writeFile(file, busConfiguration(secrets).replace('jetstream', 'no_such_setting'));
  await expect(promisify(execFile)(path, ['--config', file, '-t'])).rejects.toThrow(/no_such_setting/);
});

test('a server of the NATS chart includes the rights from their volume, as in the example of values', async () => {
  const example = resolve(import.meta.dirname, '../../helm/examples/nats/nats-values.yaml');
  const { config, container, podTemplate } = parse(await readFile(example, 'utf8'));
  const { mountPath } = container.patch[0].value;
  const { items, secretName } = podTemplate.patch[0].value.secret;
  expect(secretName).toBe('knowledge-nats');
  // The chart mounts the configuration at this place.
  const file = join(folder, 'etc/nats-config/nats.conf');
  const rights = join(folder, mountPath, items[0].path);
  await Promise.all([file, rights].map((path) => mkdir(dirname(path), { recursive: true })));
  await writeFile(rights, busAuthorization(secrets));
  await writeFile(file, `port: 4222\ninclude "${config.merge.$include}"\n`);
  const path = await findNatsServer(TOOLCHAIN);
  await promisify(execFile)(path, ['--config', file, '-t']);
  await writeFile(rights, 'no_such_setting: 1');
  await expect(promisify(execFile)(path, ['--config', file, '-t'])).rejects.toThrow(/no_such_setting/);
});

import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { loadSecrets } from '@kr/local-stack';
import { findAdminEndpoint } from '../../../clients/kr/src/settings/runtime.ts';
import { kubernetesSecrets } from './kubernetes-secrets.ts';
import { writeOperatorFolder } from './operator-folder.ts';
import { serviceSecrets } from './service-secrets.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-operator-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('the keys in the folder are the keys that deployed services accept', async () => {
  const secrets = await loadSecrets(join(folder, 'secrets.json'));
  const operator = join(folder, 'operator');
  const addresses = {
    gateway: '127.0.0.1:1',
    packages: '127.0.0.1:2',
    files: '127.0.0.1:3',
    search: '127.0.0.1:4',
    records: '127.0.0.1:5',
  };
  const baseUrl = 'https://repository.example.org';
  const data = { postgres: 'postgres://db:5432?sslmode=verify-full', nats: 'nats://bus:4222' };
  await writeOperatorFolder(operator, secrets, { baseUrl, addressOf: (service) => addresses[service], data });

  const backends = { postgres: 'postgres://postgres:5432', nats: 'nats://nats:4222' };
  for (const service of ['gateway', 'packages', 'files', 'search', 'records'] as const) {
    const { address, key } = await findAdminEndpoint([operator], service);
    expect(address).toBe(addresses[service]);
    const { CALLER_KEYS = '' } = serviceSecrets(service, secrets, backends);
    expect(CALLER_KEYS.split(',')).toContain(`operator=${key}`);
  }
  expect((await stat(join(operator, 'runtime.json'))).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(join(operator, 'runtime.json'), 'utf8'))).toMatchObject({
    base_url: 'https://repository.example.org',
    databases: {
      'access-links': `postgres://kr_access_links:${secrets.databasePasswords['access-links']}@db:5432/kr_access_links?sslmode=verify-full`,
    },
    nats: `nats://operator:${secrets.busPasswords.operator}@bus:4222`,
  });
});

test('the Secret of operators in a cluster has the names of its Services and the volume of files', async () => {
  const secrets = await loadSecrets(join(folder, 'secrets.json'));
  const { items } = kubernetesSecrets(secrets, {
    postgres: 'postgres://db:5432',
    nats: 'nats://bus:4222',
    prefix: 'mine',
    release: 'rivers',
    baseUrl: 'https://repository.example.org',
    filesFolder: '/files',
  });
  const secret = items.find(({ metadata }) => metadata.name === 'mine-operator');
  await writeFile(join(folder, 'runtime.json'), secret?.stringData['runtime.json'] ?? '');
  expect(await findAdminEndpoint([folder], 'files')).toEqual({
    address: 'rivers-files:50051',
    key: secrets.callerKeys.files.operator,
    folder,
  });
  expect(JSON.parse(secret?.stringData['runtime.json'] ?? '')).toMatchObject({
    base_url: 'https://repository.example.org',
    databases: { records: expect.stringContaining('@db:5432/kr_records') },
    files_folder: '/files',
  });
});

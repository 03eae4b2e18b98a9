import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CALLS, PROGRAMS, type ProgramName, SERVICES } from '@kr/local-stack';
import { parse } from 'yaml';
import { writeComposeFolder } from './compose-folder.ts';
import { CONFIGURATIONS } from './service-variables.ts';
import { isTold } from './told-variables-fixture.ts';

const run = promisify(execFile);
const FILE = resolve(import.meta.dirname, '../../compose.yaml');

interface Compose {
  services: Record<string, ComposeService>;
}
interface ComposeService {
  environment?: Record<string, string>;
  env_file?: string[];
  networks: string[];
  ports?: string[];
  entrypoint?: string[];
  volumes?: string[];
  profiles?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  depends_on?: Record<string, object>;
}

const hasCompose = await run('docker', ['compose', 'version']).then(
  () => true,
  () => false,
);
let folder: string;
let compose: Compose;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-compose-'));
  await writeComposeFolder(join(folder, 'secrets'));
  const text = await readFile(FILE, 'utf8');
  const required: Record<string, string> = {
    DOI_PREFIX: '10.1234',
    OAI_PREFIX: 'repository.example.org',
  };
  const filled = text
    .replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
    .replaceAll(/\$\{(\w+):\?[^}]*\}/g, (variable, name) => required[name] ?? variable);
  compose = parse(filled, { merge: true });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The environment of a service's container. */
async function environmentOf(service: ProgramName): Promise<Record<string, string>> {
  const { environment, env_file } = compose.services[service] ?? {};
  expect(env_file).toEqual([`secrets/${service}.env`]);
  const lines = (await readFile(join(folder, `secrets/${service}.env`), 'utf8')).trim().split('\n');
  // Compose passes numbers as texts.
  const texts = Object.entries(environment ?? {}).map(([name, value]) => [name, String(value)]);
  return Object.fromEntries([...lines.map((line) => line.split(/=(.*)/s, 2)), ...texts]);
}

describe('compose.yaml', () => {
  test.each(PROGRAMS)(
    'sets exactly the variables that %s reads, and no secret in the file',
    async (service) => {
      const environment = await environmentOf(service);
      expect(() => CONFIGURATIONS[service].readConfig(environment)).not.toThrow();
      expect(Object.keys(environment).filter((name) => !isTold(service, name))).toEqual([]);
      const open = Object.keys(compose.services[service]?.environment ?? {});
      expect(open.filter((name) => isTold(service, name) === 'secret')).toEqual([]);
    },
  );

  test.each(SERVICES)('sets for %s the addresses of the services it calls', async (service) => {
    const environment = await environmentOf(service);
    const addresses = Object.entries(environment).filter(([name]) => name.endsWith('_ADDRESS'));
    expect(addresses.map(([, address]) => address).sort()).toEqual(
      CALLS[service].map((callee) => `${callee}:50051`).sort(),
    );
  });

  test('search has the address of Elasticsearch, if that is requested', async () => {
    const environment = { ...(await environmentOf('search')), SEARCH_ENGINE: 'elasticsearch' };
    expect(CONFIGURATIONS.search.readConfig(environment)).toMatchObject({
      engine: { kind: 'elasticsearch', url: new URL('http://elasticsearch:9200') },
    });
    expect(compose.services['elasticsearch']).toMatchObject({
      profiles: ['elasticsearch'],
      networks: ['inside'],
      healthcheck: { test: expect.arrayContaining(['curl']) },
    });
    // By default there is no Elasticsearch.
    expect(compose.services['search']?.depends_on).toEqual({
      postgres: { condition: 'service_healthy' },
      nats: { condition: 'service_healthy' },
      elasticsearch: { condition: 'service_healthy', required: false },
    });
  });

  test('the tool of operators reaches the services and their databases with the keys of operators', async () => {
    const { entrypoint, volumes, networks, profiles } = compose.services['kr-admin'] ?? {};
    expect({ entrypoint, volumes, networks, profiles }).toEqual({
      entrypoint: ['/app/entrypoint.sh', 'kr-admin'],
      volumes: ['./secrets/operator.json:/operator/runtime.json:ro'],
      networks: ['inside'],
      profiles: ['operator'],
    });
    const { admin, databases } = JSON.parse(await readFile(join(folder, 'secrets/operator.json'), 'utf8'));
    for (const [service, { address, key }] of Object.entries<{ address: string; key: string }>(admin)) {
      expect(address).toBe(`${service}:50051`);
      expect(compose.services[service]?.networks).toContain('inside');
      const { CALLER_KEYS = '' } = await environmentOf(service as ProgramName);
      expect(CALLER_KEYS.split(',')).toContain(`operator=${key}`);
    }
    for (const service of SERVICES)
      expect(databases[service]).toBe((await environmentOf(service))['DATABASE_URL']);
  });

  test('services can write nothing, have no rights, and are reached from this machine only', () => {
    for (const service of PROGRAMS) {
      const { read_only, cap_drop, ports = [] } = compose.services[service] ?? {};
      expect({ read_only, cap_drop }).toEqual({ read_only: true, cap_drop: ['ALL'] });
      expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    }
  });

  (hasCompose ? test : test.skip)(
    `is read by Docker Compose${hasCompose ? '' : ' (needs docker with compose)'}`,
    async () => {
      await writeFile(join(folder, 'compose.yaml'), await readFile(FILE));
      await run('docker', ['compose', '-f', join(folder, 'compose.yaml'), 'config', '--quiet']);
    },
  );

  test('secrets are generated once, readable by this user only', async () => {
    const read = () => readFile(join(folder, 'secrets/files.env'), 'utf8');
    const made = await read();
    await writeComposeFolder(join(folder, 'secrets'));
    expect(await read()).toBe(made);
    expect((await stat(join(folder, 'secrets'))).mode & 0o777).toBe(0o700);
  });
});

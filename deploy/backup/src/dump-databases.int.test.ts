import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eachService, SERVICES, type ServiceName } from '@kr/local-stack';
import { migrate } from '@kr/schema-migration';
import { type FreshDatabase, freshDatabase } from '@kr/testbed';
import { Client } from 'pg';
import { dumpDatabases } from './dump-databases.ts';
import { SCHEMAS } from './schemas.ts';

let folder: string;
let databases: Record<ServiceName, FreshDatabase>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-dump-'));
  const fresh = await Promise.all(SERVICES.map(() => freshDatabase()));
  databases = eachService((service) => fresh[SERVICES.indexOf(service)] as FreshDatabase);
});
afterEach(async () => {
  await Promise.all(Object.values(databases).map((database) => database.drop()));
  await rm(folder, { recursive: true });
});

test('locks no database while the bytes of files are copied', async () => {
  for (const service of SERVICES)
    await migrate({ databaseUrl: databases[service].url, sets: SCHEMAS[service] });
  const databaseUrls = eachService((service) => databases[service].url);
  const dumped = await dumpDatabases(
    { databaseUrls, filesFolder: undefined, dataDir: undefined },
    { folder, now: () => new Date(0), progress: { step: () => undefined, amount: () => undefined } },
  );
  expect(dumped).toMatchObject({ takenAt: new Date(0), objects: { objects: 0, bytes: 0 } });
  const observer = new Client({ connectionString: databases.gateway.url });
  await observer.connect();
  try {
    const { rows } = await observer.query(
      `select datname from pg_stat_activity
       where datname = any($1) and state = 'idle in transaction'`,
      [Object.values(databases).map(({ url }) => new URL(url).pathname.slice(1))],
    );
    expect(rows).toEqual([]);
  } finally {
    await observer.end();
  }
});

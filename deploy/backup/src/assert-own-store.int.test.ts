import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eachService } from '@kr/local-stack';
import { migrate } from '@kr/schema-migration';
import { type FreshDatabase, freshDatabase } from '@kr/testbed';
import { Client } from 'pg';
import { makeBackup } from './make-backup.ts';
import { SCHEMAS } from './schemas.ts';

const OWN = '018f2b6e-4d1c-7000-8000-000000000001';
const ANOTHER = '018f2b6e-4d1c-7000-8000-000000000002';

let folder: string;
let files: FreshDatabase;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-store-'));
  files = await freshDatabase();
  await migrate({ databaseUrl: files.url, sets: SCHEMAS.files });
  const client = new Client({ connectionString: files.url });
  await client.connect();
  await client.query('insert into store_identity (id, claimed_at) values ($1, now())', [OWN]);
  await client.end();
});
afterEach(async () => {
  await files.drop();
  await rm(folder, { recursive: true });
});

test.each([
  ['nobody', undefined],
  ['another database', ANOTHER],
])('a folder of bytes that is that of %s is reported, and nothing is written', async (_whose, storeId) => {
  const store = join(folder, 'store');
  await mkdir(store);
  if (storeId !== undefined) await writeFile(join(store, 'store-id'), `${storeId}\n`);
  const backup = join(folder, 'backup');
  const making = makeBackup(
    // The check reads only the database of files.
    { databaseUrls: eachService(() => files.url), filesFolder: store, dataDir: undefined },
    {
      folder: backup,
      withSecrets: false,
      release: '0.1.0',
      now: () => new Date(),
      progress: { step: () => undefined, amount: () => undefined },
    },
  );
  await expect(making).rejects.toThrow(
    `The bytes of this system's files are not in ${store}, but in a bucket or another folder: back them up where they are, and add --without-files.`,
  );
  expect([existsSync(backup), existsSync(`${backup}.partial`)]).toEqual([false, false]);
});

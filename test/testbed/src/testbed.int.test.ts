import { afterAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { freshDatabase, startNats } from './index.ts';

describe('test bed', () => {
  const leftOpen: (() => Promise<void>)[] = [];
  afterAll(() => Promise.all(leftOpen.map((close) => close())));

  test('creates a separate empty database for every caller', async () => {
    const [one, two] = await Promise.all([freshDatabase(), freshDatabase()]);
    leftOpen.push(one.drop, two.drop);
    const client = new Client({ connectionString: one.url });
    await client.connect();
    await client.query('CREATE EXTENSION pg_trgm');
    await client.query('CREATE TABLE example (id int)');
    const { rows } = await client.query(
      "SELECT lower('ÄÖ') AS folded, current_setting('server_version_num')::int >= 180000 AS recent",
    );
    await client.end();
    expect({ differ: one.url !== two.url, rows }).toEqual({
      differ: true,
      rows: [{ folded: 'äö', recent: true }],
    });
  });

  test('starts NATS servers side by side', async () => {
    const [one, two] = await Promise.all([startNats(), startNats()]);
    leftOpen.push(one.stop, two.stop);
    expect(one.url).not.toBe(two.url);
  });
});

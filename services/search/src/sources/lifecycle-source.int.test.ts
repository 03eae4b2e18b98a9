import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { definitions } from '@kr/contracts';
import { RELEASED_VOCABULARIES } from '@kr/metadata';
import { createClient, serve } from '@kr/rpc';
import { createLogger } from '@kr/telemetry';
import { anIndexDocument } from '../index/testing/an-entity.ts';
import { type LifecycleClient, lifecycleSource } from './lifecycle-source.ts';

const KEY = randomBytes(24).toString('hex');
/** Two of them fit in one answer, three do not. */
const LARGE = 'x'.repeat(25 * 1024 * 1024);

test('entities that are too large for one answer are fetched in several', async () => {
  const asked: string[][] = [];
  const server = await serve({
    services: [
      {
        definition: { FetchForIndex: definitions.lifecycle.FetchForIndex },
        handlers: {
          FetchForIndex: async ({ ids }) => {
            asked.push(ids);
            return { documents: ids.map((id) => anIndexDocument({ id, document: { unindexed: LARGE } })) };
          },
        },
        callers: { search: 'all' },
      },
    ],
    host: '127.0.0.1',
    port: 0,
    audience: 'records',
    callerKeys: new Map([['search', KEY]]),
    logger: createLogger('test', new Writable({ write: (_chunk, _encoding, done) => done() })),
  });
  const address = `127.0.0.1:${server.port}`;
  const records = createClient(definitions.lifecycle, {
    address,
    key: KEY,
    audience: 'records',
    caller: 'search',
    defaultTimeoutMs: 240_000,
  });
  try {
    // The time for this amount on a loaded machine.
    const patient: LifecycleClient = {
      ...records,
      fetchForIndex: (request, principal) => records.fetchForIndex(request, principal),
    };
    const source = lifecycleSource({ record: patient, package: patient }, RELEASED_VOCABULARIES);
    const entities = await source.fetch('record', ['a', 'b', 'c', 'd', 'e']);
    expect(entities.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(asked).toEqual([['a', 'b', 'c', 'd', 'e'], ['a', 'b', 'c'], ['a', 'b'], ['c'], ['d', 'e']]);
  } finally {
    records.close();
    await server.stop();
  }
});

import { createDraft, createPackages, publishFile, publishRecord, recordBody } from './deposit.ts';
import type { Scenario } from './scenario.ts';

/** The gateway caches reads of visitors; reads with a token are rendered each time. */
function readPublished(who: 'a visitor' | 'its owner'): Scenario {
  return {
    name: `GET published record, ${who}`,
    concurrency: 16,
    async prepare(repository, visitor) {
      const { id } = await publishRecord(repository, 'Water levels to read');
      const path = `/api/records/${id}`;
      const reader = who === 'a visitor' ? visitor : repository;
      return {
        request: () => reader.drain('GET', path),
        payload: await reader.send('GET', path),
        method: 'GET',
      };
    },
  };
}

/** The bare server sends the same number of bytes as JSON. */
function downloadSmallFile(who: 'a visitor' | 'its owner'): Scenario {
  return {
    name: `GET file of 10 KiB, ${who}`,
    concurrency: 8,
    async prepare(repository, visitor) {
      const text = 'x'.repeat(10_240);
      const path = await publishFile(repository, text);
      const reader = who === 'a visitor' ? visitor : repository;
      return { request: () => reader.drain('GET', path), payload: { text }, method: 'GET' };
    },
  };
}

const SEARCH_CORPUS = 200;

function search(): Scenario {
  let isFilled = false;
  return {
    name: `search two words, ${SEARCH_CORPUS} records`,
    concurrency: 8,
    async prepare(repository) {
      for (let count = 0; !isFilled && count < SEARCH_CORPUS; count += 20) {
        await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            publishRecord(repository, `Searched levels ${count + index}`),
          ),
        );
      }
      isFilled = true;
      const path = '/api/records?q=searched+levels';
      return {
        request: () => repository.drain('GET', path),
        payload: await repository.send('GET', path),
        method: 'GET',
      };
    },
  };
}

/** Enough to saturate two processors; with more, requests wait for each other and latencies mean less. */
const WRITERS = 4;

const newDraft: Scenario = {
  name: 'create draft',
  concurrency: WRITERS,
  async prepare(repository) {
    const body = JSON.stringify(recordBody('A new draft'));
    return {
      request: () => repository.drain('POST', '/api/records', body),
      payload: await repository.send('POST', '/api/records', JSON.parse(body)),
      method: 'POST',
      body,
    };
  },
};

const updateDraft: Scenario = {
  name: 'update draft',
  concurrency: WRITERS,
  async prepare(repository) {
    const body = JSON.stringify(recordBody('A changed draft'));
    // One draft for each concurrent request, so that none waits for another's lock.
    const ids = await Promise.all(
      Array.from({ length: WRITERS }, () => createDraft(repository, 'A draft to change')),
    );
    const paths = ids.map(({ id }) => `/api/records/${id}/draft`);
    const payload = await repository.send('PUT', paths[0] ?? '', JSON.parse(body));
    return {
      request: async () => {
        const path = paths.pop() ?? '';
        await repository.drain('PUT', path, body).finally(() => paths.push(path));
      },
      payload,
      method: 'POST',
      body,
    };
  },
};

/**
 * Publishes packages of `size` resources; only the publish calls are measured. A round must last for seconds, or start
 * and end weigh more than the publishes between.
 */
function publishPackages(size: number, requestsPerRound: number, concurrency = 1): Scenario {
  return {
    name: `publish package, N = ${size}`,
    concurrency,
    requestsPerRound,
    async prepare(repository) {
      const ready = await createPackages(repository, requestsPerRound + 1, size);
      const publish = (id: string | undefined) => `/api/packages/${id}/draft/actions/publish`;
      const payload = await repository.send('POST', publish(ready.pop()));
      return {
        request: () => repository.drain('POST', publish(ready.pop())),
        payload,
        method: 'POST',
        body: '{}',
      };
    },
  };
}

export const SCENARIOS: readonly (() => Scenario)[] = [
  () => readPublished('a visitor'),
  () => readPublished('its owner'),
  () => downloadSmallFile('a visitor'),
  () => downloadSmallFile('its owner'),
  search,
  () => newDraft,
  () => updateDraft,
  () => publishPackages(1, 120),
  () => publishPackages(10, 60),
  () => publishPackages(10, 150, 4),
  () => publishPackages(100, 15),
  () => publishPackages(1_000, 2),
];

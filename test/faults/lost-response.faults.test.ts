import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FaultProxy, seededRandom, until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, Failed, Listing } from '../e2e/story/answers.ts';
import { recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { insistentClient } from '../e2e/story/persistent-client.ts';
import { link, packageOfResources } from '../e2e/story/stories.ts';
import { type PublicationLedger, publicationLedger } from './publication-ledger.ts';
import { scaled, seed } from './scale.ts';

const ROUNDS = scaled(5, 100);
/** Less than the head of any answer, so that no client has understood it. */
const MOST_BYTES = 200;

let system: SharedSystem;
let ledger: PublicationLedger;
let proxy: FaultProxy;
let author: HttpClient;
/** The client with the broken connection to the gateway. */
let unlucky: HttpClient;
beforeAll(async () => {
  system = await sharedSystem();
  ledger = publicationLedger(system);
  proxy = await FaultProxy.start(new URL(system.baseUrl).host);
  author = insistentClient(httpClient(system.baseUrl, system.token));
  unlucky = httpClient(`http://${proxy.address}`, system.token);
});
afterAll(async () => {
  await proxy?.stop();
  await ledger?.close();
  await system?.stop();
});

const random = seededRandom(seed);
const pathOf = (url: string) => new URL(url).pathname.replace(/^\/api/, '');

/** Sends what the server carries out and answers, and loses the answer within its first bytes. */
async function losing(path: string, sent: { json?: unknown; key: string }): Promise<void> {
  const afterBytes = Math.floor(random() * MOST_BYTES);
  const cuts = proxy.cuts;
  proxy.cutNext({ direction: 'to client', afterBytes, when: (bytes) => bytes.includes(`POST /api${path}`) });
  const headers = { 'Idempotency-Key': sent.key };
  const answer = await unlucky
    .call('POST', path, { headers, ...(sent.json === undefined ? {} : { json: sent.json }) })
    .catch(() => 'no answer');
  expect({ answer, cuts: proxy.cuts }).toEqual({ answer: 'no answer', cuts: cuts + 1 });
}

describe('the answer is written and never arrives', () => {
  test(
    'to a publish: with its key and without, the repeat gives the answer',
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { main, resources } = await packageOfResources(author, `Lost ${round}`, 2);
        const path = pathOf(link(main, 'publish'));
        const key = `lost-${seed}-${round}`;
        await losing(path, { key });
        const headers = { 'Idempotency-Key': key };
        const withKey = await unlucky.call<Entity>('POST', path, { headers });
        const without = await unlucky.call<Entity>('POST', path);
        const other = await unlucky.call<Failed>('POST', path, { headers, json: { another: 'body' } });
        expect({
          round,
          seed,
          statuses: [withKey.status, without.status],
          body: withKey.text,
          other: [other.status, other.body.code],
        }).toEqual({
          round,
          seed,
          statuses: [202, 202],
          body: without.text,
          other: [422, 'idempotency_key_reused'],
        });
        expect([withKey.body.is_published, withKey.body.relationship.resources?.length]).toEqual([
          true,
          resources.length,
        ]);
        await ledger.quiet();
        expect(await Promise.all([main, ...resources].map(({ id }) => ledger.announcementsOf(id)))).toEqual([
          1, 1, 1,
        ]);
      }
    },
    scaled(300_000, 900_000),
  );

  test(
    'to a creation: the repeat with its key gives the one draft that was made',
    async () => {
      const created: string[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const json = recordDocument(`Lost creation ${round}`);
        const key = `created-${seed}-${round}`;
        await losing('/records', { json, key });
        const headers = { 'Idempotency-Key': key };
        const first = await unlucky.call<Entity>('POST', '/records', { json, headers });
        const second = await unlucky.call<Entity>('POST', '/records', { json, headers });
        const other = await unlucky.call<Failed>('POST', '/records', {
          json: recordDocument('Another'),
          headers,
        });
        expect([first.status, first.headers.get('idempotency-replayed'), second.text, other.status]).toEqual([
          201,
          'true',
          first.text,
          422,
        ]);
        created.push(first.body.id);
      }
      const q = encodeURIComponent('metadata.title:"Lost creation"');
      const found = await until(
        async () => {
          const { hits } = await author.sure<Listing>('GET', `/user/records?size=1000&q=${q}`);
          return hits.total < created.length ? undefined : hits.hits.map(({ id }) => id);
        },
        { what: 'the drafts in the listing' },
      );
      expect(found.sort()).toEqual(created.sort());
    },
    scaled(300_000, 900_000),
  );
});

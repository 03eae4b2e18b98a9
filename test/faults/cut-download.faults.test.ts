import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { seededRandom } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity } from '../e2e/story/answers.ts';
import { recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, oneTryClient } from '../e2e/story/http-client.ts';
import { insistentClient } from '../e2e/story/persistent-client.ts';
import { link, upload } from '../e2e/story/stories.ts';
import { scaled, seed } from './scale.ts';

const DOWNLOADS = scaled(10, 200);
const CONTENT = randomBytes(1_000_000);

let system: TestSystem;
let author: HttpClient;
beforeAll(async () => {
  system = await startSystem({ proxied: ['gateway to content'] });
  author = insistentClient(oneTryClient(system.baseUrl, system.token));
});
afterAll(() => system?.stop());

test(
  'a download whose bytes end early never looks complete',
  async () => {
    const json = recordDocument('With a file', { withFiles: true });
    const draft = await author.sure<Entity>('POST', '/records', { json });
    const content = link(await upload(author, draft, 'data.bin', CONTENT), 'content');
    const random = seededRandom(seed);
    const proxy = system.proxy('gateway to content');

    for (let number = 0; number < DOWNLOADS; number += 1) {
      const afterBytes = Math.floor(random() * CONTENT.length);
      const cuts = proxy.cuts;
      proxy.cutNext({ direction: 'to client', afterBytes });
      const seen = await author.call('GET', content).then(
        ({ status }) => (status < 500 ? `complete, with ${status}` : 'failed'),
        () => 'failed',
      );
      const whole = await author.call('GET', content);
      expect({
        seed,
        number,
        afterBytes,
        seen,
        cuts: proxy.cuts,
        whole: whole.bytes.equals(CONTENT),
      }).toEqual({
        seed,
        number,
        afterBytes,
        seen: 'failed',
        cuts: cuts + 1,
        whole: true,
      });
    }
  },
  scaled(300_000, 900_000),
);

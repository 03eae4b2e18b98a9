import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, publish } from './story/stories.ts';

let system: SharedSystem;
let author: HttpClient;
let other: HttpClient;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  other = httpClient(system.baseUrl, (await system.createUser('other')).token);
});
afterAll(() => system?.stop());

const KINDS = [
  ['records', recordDocument],
  ['packages', packageDocument],
] as const;

const draftWith = (client: HttpClient, [kind, document]: (typeof KINDS)[number], identifier: string) =>
  client.sure<Entity>('POST', `/${kind}`, {
    json: { ...document('With a DOI'), pids: { doi: { identifier, provider: 'external' } } },
  });

test.each(KINDS.flatMap((first) => KINDS.map((second) => ({ first, second }))))(
  'a DOI of published $first.0 is taken for $second.0, in any letters, and a draft takes none',
  async ({ first, second }) => {
    const doi = `10.1234/${first[0]}-${second[0]}`;
    await draftWith(other, second, doi);
    await publish(author, await draftWith(author, first, doi));
    const late = await draftWith(other, second, doi.toUpperCase());
    const refused = await other.call('POST', link(late, 'publish'));
    expect([refused.status, refused.body]).toEqual([
      400,
      expect.objectContaining({
        errors: [
          expect.objectContaining({
            field: 'pids.doi',
            messages: [`doi:${doi.toUpperCase()} already exists.`],
          }),
        ],
      }),
    ]);
  },
);

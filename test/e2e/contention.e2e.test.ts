import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, FilesListing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, type PackageOfResources, packageOfResources } from './story/stories.ts';

const WRONG = recordDocument('Wrong', { metadata: { creators: [] } });

/** A concurrent change of a package or its resources during its publication. */
const DISTURBANCES: Record<
  string,
  (whole: PackageOfResources) => [method: string, target: string, json?: object]
> = {
  'a resource made wrong': ({ resources: [one] }) => ['PUT', `/records/${one?.id}/draft`, WRONG],
  'a resource deleted': ({ resources: [one] }) => ['DELETE', `/records/${one?.id}/draft`],
  'a resource published alone': ({ resources: [one] }) => [
    'POST',
    `/records/${one?.id}/draft/actions/publish`,
  ],
  'a resource taken out': ({ main, resources: [one] }) => [
    'DELETE',
    `/packages/${main.id}/draft/resources`,
    { resources: [{ id: one?.id }] },
  ],
  'a resource dissociated': ({ main, resources: [one] }) => [
    'POST',
    link(main, 'context_dissociate'),
    { records: [{ id: one?.id }] },
  ],
  'a file started': ({ resources: [one] }) => [
    'POST',
    `/records/${one?.id}/draft/files`,
    [{ key: 'late.txt' }],
  ],
  'the package changed': ({ main }) => [
    'PUT',
    link(main, 'self'),
    packageDocument('Closed', { access: { record: 'restricted', files: 'restricted' } }),
  ],
  'the package deleted': ({ main }) => ['DELETE', link(main, 'self')],
  'the package published again': ({ main }) => ['POST', link(main, 'publish')],
};

/** Refusals that fit; everything else would be a surprise. */
const FITTING = new Set([200, 201, 202, 204, 400, 403, 404, 409]);

let system: SharedSystem;
let author: HttpClient;
let anonymous: HttpClient;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  anonymous = httpClient(system.baseUrl);
});
afterAll(() => system?.stop());

const statusOf = async (client: HttpClient, target: string) => (await client.call('GET', target)).status;

/** Contradictions after all changes have ended: the mirror of a relation may follow a moment later. */
async function contradictions(whole: PackageOfResources): Promise<string[]> {
  let found: string[] = [];
  const isSettled = async () => {
    found = await contradictionsNow(whole);
    return found.length === 0;
  };
  await until(isSettled).catch(() => undefined);
  return found;
}

async function contradictionsNow({ main, resources }: PackageOfResources): Promise<string[]> {
  const published = await author.call<Entity>('GET', `/packages/${main.id}`);
  if (published.status !== 200) return [];
  const held = new Set(published.body.relationship.resources?.map(({ id }) => id));
  const found: string[] = [];
  for (const { id } of resources) {
    const record = await author.call<Entity>('GET', `/records/${id}`);
    if (held.has(id) && record.status !== 200) found.push(`${id} is held, but answers ${record.status}`);
    if (record.status !== 200) continue;
    const { metadata, files, relationship } = record.body;
    if ((metadata['creators'] as unknown[] | undefined)?.length !== 1)
      found.push(`${id} is wrong and published`);
    const mirrored = relationship.packages?.some((one) => one.id === main.id) ?? false;
    if (mirrored !== held.has(id)) found.push(`${id} and its package differ about each other`);
    if (!files.enabled) continue;
    const { entries } = await author.sure<FilesListing>('GET', `/records/${id}/files`);
    if (entries.some(({ status }) => status !== 'completed')) found.push(`${id} has an unfinished file`);
  }
  return found;
}

describe('while a package is being published', () => {
  test.each(Object.entries(DISTURBANCES))('%s', async (_, disturb) => {
    for (const delayMs of [0, 5, 20, 50]) {
      const whole = await packageOfResources(author, 'Contended', 4);
      const { main, resources } = whole;
      const [method, target, json] = disturb(whole);
      const publishing = author.call('POST', link(main, 'publish'));
      await sleep(delayMs);
      const disturbance = await author.call(method, target, json === undefined ? {} : { json });
      const publication = await publishing;
      expect({
        publication: FITTING.has(publication.status) || publication.text,
        disturbance: FITTING.has(disturbance.status) || disturbance.text,
      }).toEqual({ publication: true, disturbance: true });

      const isPublished = (await statusOf(author, `/packages/${main.id}`)) === 200;
      expect([publication.status === 202 && !isPublished, await contradictions(whole)]).toEqual([false, []]);

      // Nothing stays locked: what is still a draft can be changed and published, or is gone.
      for (const { id } of resources) {
        const draft = `/records/${id}/draft`;
        if ((await statusOf(author, draft)) === 404) continue;
        const put = await until(async () => {
          const { status } = await author.call('PUT', draft, { json: recordDocument('Repaired') });
          return status === 409 ? undefined : status;
        });
        expect(put).toBe(200);
      }
      if ((await statusOf(author, link(main, 'self'))) === 200) {
        // A relation removed from a resource is removed from the package a moment later.
        const isThrough = async () => (await author.call('POST', link(main, 'publish'))).status === 202;
        await until(isThrough, { everyMs: 100, what: 'the publication' });
        expect(await contradictions(whole)).toEqual([]);
      }
      const sights = await Promise.all(resources.map(({ id }) => statusOf(anonymous, `/records/${id}`)));
      expect(sights.filter((status) => ![200, 403, 404].includes(status))).toEqual([]);
    }
  });
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import { Client } from 'pg';
import type { Entity, Failed, Listing } from '../e2e/story/answers.ts';
import { databaseDigest } from '../e2e/story/database-digest.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import { type Answer, type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { link, packageOfResources, publish, publishedRecord, relate } from '../e2e/story/stories.ts';
import { type PublicationLedger, publicationLedger } from './publication-ledger.ts';
import { scaled } from './scale.ts';

const RESOURCES = scaled(20, 100);
const WRONG_RESOURCES = Math.round(RESOURCES * 0.37);
/** The problem of each invalid one. */
const WRONG = { title: 'ab', publication_date: 'soon', creators: [] };
const WRONG_FIELDS = Object.keys(WRONG)
  .map((name) => `metadata.${name}`)
  .sort();

let system: SharedSystem;
let author: HttpClient;
let anonymous: HttpClient;
let ledger: PublicationLedger;
let databases: Client[];
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  anonymous = httpClient(system.baseUrl);
  ledger = publicationLedger(system);
  const { records, packages, files } = system.databaseUrls;
  databases = [records, packages, files].map((connectionString) => new Client({ connectionString }));
  await Promise.all(databases.map((database) => database.connect()));
});
afterAll(async () => {
  await Promise.all((databases ?? []).map((database) => database.end()));
  await ledger?.close();
  await system?.stop();
});

const listOf = (entities: readonly { id: string }[]) => entities.map(({ id }) => ({ id }));
const idsOf = (entities: readonly { id: string }[]) => entities.map(({ id }) => id).sort();
const newRecord = (title: string) => author.sure<Entity>('POST', '/records', { json: recordDocument(title) });
const newPackage = (title: string) =>
  author.sure<Entity>('POST', '/packages', { json: packageDocument(title) });
const add = (main: Entity, resources: readonly Entity[]) =>
  author.sure('POST', link(main, 'resources'), { json: { resources: listOf(resources) } });
const times = <T>(count: number, make: (number: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index + 1)));

/** A published resource of which an edit has begun. */
async function editedRecord(title: string): Promise<Entity> {
  const published = await publishedRecord(author, title);
  await author.sure('POST', link(published, 'draft'));
  await author.sure('PUT', `/records/${published.id}/draft`, { json: recordDocument(`${title}, edited`) });
  return published;
}

describe(`a package of ${RESOURCES} with ${WRONG_RESOURCES} wrong ones`, () => {
  test('is refused with every problem of each by name, stays a draft as a whole, and is free at once', async () => {
    const { main, resources } = await packageOfResources(author, 'Much is wrong', RESOURCES);
    const wrong = resources.filter((_, index) => (index * WRONG_RESOURCES) % RESOURCES < WRONG_RESOURCES);
    const json = recordDocument('Wrong', { metadata: WRONG });
    for (const resource of wrong) await author.sure('PUT', link(resource, 'self'), { json });
    const expected = wrong.map(({ id }) => ({ record: id, fields: WRONG_FIELDS }));

    const before = await databaseDigest(databases, { except: ['dead_letter'] });
    const validated = await author.sure<{ errors: { record: string; errors: { field: string }[] }[] }>(
      'POST',
      `/packages/${main.id}/draft/actions/validate`,
    );
    expect({
      validated: validated.errors.map(({ record, errors }) => ({ record, fields: fieldsOf(errors) })),
      after: await databaseDigest(databases, { except: ['dead_letter'] }),
    }).toEqual({ validated: expected, after: before });

    const refused = await author.call<Failed>('POST', link(main, 'publish'));
    // Before further checks: nothing is locked any more.
    const puts = new Set<number>();
    for (const { id } of resources) {
      const mended = recordDocument('Mended');
      puts.add((await author.call('PUT', `/records/${id}/draft`, { json: mended })).status);
    }
    const groups = Map.groupBy(refused.body.errors ?? [], ({ record = '' }) => record);
    expect({
      status: refused.status,
      count: refused.body.errors?.length,
      refused: [...groups].map(([record, errors]) => ({ record, fields: fieldsOf(errors) })),
      everyOneSaysWhy: refused.body.errors?.every(({ messages }) => messages.length > 0),
      puts,
    }).toEqual({
      status: 400,
      count: WRONG_RESOURCES * WRONG_FIELDS.length,
      refused: expected,
      everyOneSaysWhy: true,
      puts: new Set([200]),
    });
    const sights = await Promise.all(
      [`/packages/${main.id}`, ...resources.map(({ id }) => `/records/${id}`)].map(
        async (target) => (await anonymous.call('GET', target)).status,
      ),
    );
    expect(new Set(sights)).toEqual(new Set([404]));
    expect((await author.call('POST', link(main, 'publish'))).status).toBe(202);
  });
});

function fieldsOf(issues: readonly { field: string }[]): string[] {
  return issues.map(({ field }) => field).sort();
}

/** One way to publish: what is published, and what that must do. */
interface Variant {
  draft: Entity;
  collection: 'packages' | 'records';
  /** Entities that become visible, or affect visible ones, besides `draft` itself. */
  along: readonly Entity[];
  /** Contents of the package that must stay unchanged. */
  untouched: readonly Entity[];
  /** Of those, the ones of which a newer version is published with it. */
  overtaken: readonly Entity[];
  /** The package's context afterwards: the newest version of each. */
  managed: readonly Entity[];
  /** Indexes of the versions that are listed afterwards, newest first. */
  versions: readonly number[];
}

const VARIANTS: Record<string, () => Promise<Variant>> = {
  'a package of new resources': async () => {
    const { main, resources } = await packageOfResources(author, 'New', 3);
    return packageVariant(main, { along: resources, managed: resources });
  },

  'a package of published resources': async () => {
    const main = await newPackage('Of published ones');
    const resources = await times(3, (number) => publishedRecord(author, `Published ${number}`));
    await add(main, resources);
    return packageVariant(main, { untouched: resources });
  },

  'a package of published resources that are being edited': async () => {
    const main = await newPackage('Of edited ones');
    const resources = await times(3, (number) => editedRecord(`Edited ${number}`));
    await add(main, resources);
    return packageVariant(main, { untouched: resources });
  },

  'a package of all three': async () => {
    const { main, resources } = await packageOfResources(author, 'Mixed', RESOURCES / 2);
    const edited = await times(RESOURCES / 4, (number) => editedRecord(`Edited ${number}`));
    const published = await times(RESOURCES / 4, (number) => publishedRecord(author, `Published ${number}`));
    await add(main, [...edited, ...published]);
    return packageVariant(main, {
      along: resources,
      untouched: [...edited, ...published],
      managed: resources,
    });
  },

  'a package of a managed resource that was published before': async () => {
    const { main, resources } = await packageOfResources(author, 'With an early one', 2);
    const [early, late] = resources as [Entity, Entity];
    const published = await publish(author, early);
    return packageVariant(main, { along: [late], untouched: [published], managed: resources });
  },

  'a package without resources': async () => packageVariant(await newPackage('Empty'), {}),

  'a new version of a package, with old, new and renewed resources': async () => {
    const { main, resources } = await packageOfResources(author, 'First version', 2);
    const first = await publish(author, main);
    const next = await author.sure<Entity>('POST', link(first, 'versions'));
    await author.sure('POST', link(next, 'resources_import'));
    await author.sure('PUT', link(next, 'self'), { json: packageDocument('Second version') });
    const fresh = await newRecord('Fresh');
    await relate(author, next, [fresh]);
    const [old] = resources as [Entity];
    const renewed = await author.sure<Entity>('POST', `/records/${old.id}/versions`);
    await author.sure('PUT', link(renewed, 'self'), { json: recordDocument('Renewed') });
    await add(next, [renewed]);
    return packageVariant(next, {
      along: [fresh, renewed],
      untouched: resources,
      overtaken: [old],
      managed: [...resources.slice(1), fresh, renewed],
      versions: [2, 1],
    });
  },

  'an edit of a published package': async () => {
    const { main, resources } = await packageOfResources(author, 'To be edited', 2);
    const first = await publish(author, main);
    const edit = await author.sure<Entity>('POST', link(first, 'draft'));
    await author.sure('PUT', link(edit, 'self'), { json: packageDocument('Edited') });
    return packageVariant(edit, { untouched: resources, managed: resources });
  },

  'a resource alone': async () => recordVariant(await newRecord('Alone'), [1]),

  'a managed resource alone': async () => {
    const { resources } = await packageOfResources(author, 'Stays a draft', 1);
    return recordVariant(resources[0] as Entity, [1]);
  },

  'an edit of a published resource': async () => {
    const published = await editedRecord('To be edited');
    return recordVariant(await author.sure<Entity>('GET', link(published, 'draft')), [1]);
  },

  'a new version of a resource': async () => {
    const first = await publishedRecord(author, 'First version');
    const next = await author.sure<Entity>('POST', link(first, 'versions'));
    await author.sure('PUT', link(next, 'self'), { json: recordDocument('Second version') });
    return recordVariant(next, [2, 1]);
  },
};

function packageVariant(draft: Entity, told: Partial<Variant>): Variant {
  return {
    draft,
    collection: 'packages',
    along: [],
    untouched: [],
    overtaken: [],
    managed: [],
    versions: [1],
    ...told,
  };
}

function recordVariant(draft: Entity, versions: readonly number[]): Variant {
  return { draft, collection: 'records', along: [], untouched: [], overtaken: [], managed: [], versions };
}

/** Everything a reader gets of it, published and draft, but for links and the relation that publishing it makes. */
async function bytesOf({ id }: Entity): Promise<string[]> {
  const forms = await Promise.all(
    ['', '/draft'].map((form) => author.call<Partial<Entity>>('GET', `/records/${id}${form}`)),
  );
  return forms.map((answer: Answer<Partial<Entity>>) => {
    const { links: _, relationship: __, ...rest } = answer.body;
    return `${answer.status} ${JSON.stringify(rest)}`;
  });
}

describe('publishing', () => {
  test.each(Object.entries(VARIANTS))('%s', async (_, build) => {
    const { draft, collection, along, untouched, overtaken, managed, versions } = await build();
    await ledger.quiet();
    const published = [draft, ...along];
    const count = async (entities: readonly Entity[]) =>
      Promise.all(
        entities.map(async ({ id }) => [await ledger.announcementsOf(id), await ledger.publishersOf(id)]),
      );
    const before = {
      published: await count(published),
      untouched: await count(untouched),
      bytes: await Promise.all(untouched.map(bytesOf)),
    };
    const wanted = await author.sure<Entity>('GET', `/${collection}/${draft.id}/draft`);

    const answer = await author.call<Entity>('POST', `/${collection}/${draft.id}/draft/actions/publish`);
    const held = answer.body.relationship?.resources ?? [];
    const listing = await anonymous.sure<Listing>('GET', `/${collection}/${draft.id}/versions`);
    const gone = await Promise.all(
      published.map(({ id }) =>
        author.call('GET', `/${id === draft.id ? collection : 'records'}/${id}/draft`),
      ),
    );
    await ledger.quiet();
    expect({
      status: answer.status,
      metadata: answer.body.metadata,
      held: idsOf(held),
      drafts: new Set(gone.map(({ status }) => status)),
      versions: listing.hits.hits.map(({ versions: { index } }) => index),
      latest: listing.hits.hits.map(({ versions: { is_latest } }) => is_latest),
      announced: await count(published),
      notAnnounced: await count(untouched),
      bytes: await Promise.all(untouched.map(bytesOf)),
    }).toEqual({
      status: 202,
      metadata: wanted.metadata,
      held: collection === 'packages' ? idsOf([...along, ...untouched]) : [],
      drafts: new Set([404]),
      versions,
      latest: versions.map((index) => index === versions[0]),
      announced: before.published.map(([announced = 0, publishers = 0]) => [announced + 1, publishers + 1]),
      notAnnounced: before.untouched,
      bytes: before.bytes.map(([shown = '', ofDraft], index) => {
        const isOvertaken = overtaken.some(({ id }) => id === untouched[index]?.id);
        return [isOvertaken ? shown.replace('"is_latest":true', '"is_latest":false') : shown, ofDraft];
      }),
    });

    // Everybody finds it, as it is.
    const shown = await Promise.all(
      published.map(({ id }) =>
        anonymous.sure<Entity>('GET', `/${id === draft.id ? collection : 'records'}/${id}`),
      ),
    );
    await until(
      async () => {
        const q = encodeURIComponent(published.map(({ id }) => `id:"${id}"`).join(' OR '));
        const { hits } = await anonymous.sure<Listing>('GET', `/search?size=1000&q=${q}`);
        const found = new Map(hits.hits.map(({ id, revision_id }) => [id, revision_id]));
        return shown.every(({ id, revision_id }) => found.get(id) === revision_id);
      },
      { what: 'search to find it all as it is' },
    );
    if (collection === 'packages') {
      const context = await author.sure<Listing>(
        'GET',
        `/packages/context/${draft.parent.id}/resources?size=1000`,
      );
      const mirrors = await Promise.all(
        [...along, ...untouched].map(({ id }) => anonymous.sure<Entity>('GET', `/records/${id}`)),
      );
      expect({
        context: idsOf(context.hits.hits),
        unrelated: mirrors.filter(
          ({ relationship }) => !relationship.packages?.some(({ id }) => id === draft.id),
        ),
      }).toEqual({ context: idsOf(managed), unrelated: [] });
    }
  });
});

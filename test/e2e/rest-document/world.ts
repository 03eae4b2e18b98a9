import type { AccessLink, Entity } from '../story/answers.ts';
import { packageDocument, recordDocument } from '../story/documents.ts';
import type { HttpClient } from '../story/http-client.ts';
import { link, packageOfResources, publish, relate, upload } from '../story/stories.ts';
import type { Collection, Form } from './shapes.ts';

export const CONTENT = Buffer.from('station,level\nnorth,2.1\n');
export const FILE = 'levels.csv';
export const PENDING_FILE = 'later.csv';

/** Words by which the fixtures of the search are found, and their number of each kind. */
export const MANY = 'Quillwort';
export const MANY_COUNT = 11;
export const VERSIONED = 'Sedge';
export const PLACED = 'Sundew';
export const BOX = '10,21,11,20';

/** The values of the parameters of a path and of a body. */
export type Place = Readonly<
  Partial<Record<'id' | 'parent-id' | 'filename' | 'link-id' | 'resource', string>>
>;

export interface KindWorld {
  document: (title: string, withFiles?: boolean) => object;
  /** The answer that made the draft. */
  made: Entity;
  forms: Record<Form, Entity>;
  /** The published version before the one of `forms`. */
  first: Entity;
  /** On the published entity, for ever and until a day. */
  links: [AccessLink, AccessLink];
}

export interface World {
  author: HttpClient;
  kinds: Record<Collection, KindWorld>;
  /** A published package and an edit draft of it, with many resources. */
  large: Entity;
}

const PERSON = {
  type: 'personal',
  family_name: 'Moreau',
  given_name: 'Lise',
  identifiers: [{ scheme: 'orcid', identifier: '0000-0002-1825-0097' }],
};
const FULL = { creators: [{ person_or_org: PERSON, affiliations: [{ id: '05gq02987', name: 'Brown' }] }] };

const DOCUMENT: Record<Collection, KindWorld['document']> = {
  records: (title, withFiles = false) =>
    recordDocument(title, { withFiles, metadata: { ...FULL, resource_type: { id: 'image-photo' } } }),
  packages: (title, withFiles = false) =>
    packageDocument(title, {
      withFiles,
      metadata: { ...FULL, rights: [{ id: 'cc-by-4.0' }], languages: [{ id: 'eng' }] },
    }),
};

/** Everything that is only read, made once. */
export async function buildWorld(author: HttpClient): Promise<World> {
  const [records, packages, large] = await Promise.all([
    buildKind(author, 'records'),
    buildKind(author, 'packages'),
    buildLarge(author),
    buildSearched(author),
  ]);
  return { author, kinds: { records, packages }, large };
}

async function buildKind(author: HttpClient, kind: Collection): Promise<KindWorld> {
  const document = DOCUMENT[kind];
  const make = (title: string, withFiles?: boolean) =>
    author.sure<Entity>('POST', `/${kind}`, { json: document(title, withFiles) });
  const reread = (entity: Entity) => author.sure<Entity>('GET', link(entity, 'self'));

  const made = await make('Draft', true);
  await upload(author, made, FILE, CONTENT);
  await author.sure('POST', link(made, 'files'), { json: [{ key: PENDING_FILE }] });
  const embargo = { active: true, reason: 'Reviewed first', until: '2199-01-01' };
  await author.sure('PUT', link(made, 'self'), {
    json: {
      ...document('Draft'),
      access: { record: 'public', files: 'restricted', embargo },
      files: { enabled: true, default_preview: FILE, order: [FILE] },
    },
  });

  const filed = await make('Published', true);
  await upload(author, filed, FILE, CONTENT);
  const published = await publish(author, filed);
  const createLink = (more: object) =>
    author.sure<AccessLink>('POST', link(published, 'access_links'), {
      json: { permission: 'view', ...more },
    });

  const edited = await publish(author, await make('Edited'));
  const first = await publish(author, await make('First version'));
  return {
    document,
    made,
    first,
    links: [await createLink({}), await createLink({ expires_at: '2199-01-01T00:00:00' })],
    forms: {
      draft: await reread(made),
      published: await reread(published),
      'edit draft': await author.sure<Entity>('POST', link(edited, 'draft')),
      'new version': await author.sure<Entity>('POST', link(first, 'versions')),
    },
  };
}

async function buildLarge(author: HttpClient): Promise<Entity> {
  const { main } = await packageOfResources(author, `${MANY} large`, MANY_COUNT);
  const published = await publish(author, main);
  await author.sure('POST', link(published, 'draft'));
  return published;
}

async function buildSearched(author: HttpClient): Promise<void> {
  const make = async (kind: Collection, json: object) =>
    publish(author, await author.sure<Entity>('POST', `/${kind}`, { json }));
  const many = Array.from({ length: MANY_COUNT - 1 }, (_, number) =>
    make('packages', packageDocument(`${MANY} package ${number}`)),
  );
  const ofKind = async (kind: Collection, document: typeof recordDocument | typeof packageDocument) => {
    const geometry = { type: 'Point', coordinates: [10.5, 20.5] };
    await make(kind, document(PLACED, { metadata: { locations: { features: [{ geometry }] } } }));
    const first = await make(kind, document(VERSIONED));
    const next = await author.sure<Entity>('POST', link(first, 'versions'));
    await author.sure('PUT', link(next, 'self'), { json: document(`${VERSIONED} again`) });
    await publish(author, next);
  };
  await Promise.all([...many, ofKind('records', recordDocument), ofKind('packages', packageDocument)]);
}

/**
 * The prerequisites of a request, by the words of the tables: "the" one is only read, "a" one is created for
 * it.
 */
export const STANDING = {
  nothing: async () => ({}),
  'the draft': async ({ kinds }, kind) => placeOf(kinds[kind].forms.draft, { filename: FILE }),
  'the published': async ({ kinds }, kind) =>
    placeOf(kinds[kind].forms.published, { filename: FILE, 'link-id': kinds[kind].links[0].id }),
  'the first version': async ({ kinds }, kind) => placeOf(kinds[kind].first),
  'the large one': async ({ large }) => placeOf(large),
  'a draft': async (world, kind) => placeOf(await newDraft(world, kind)),
  'a draft with files enabled': async (world, kind) =>
    placeOf(await newDraft(world, kind, true), { filename: FILE }),
  'a draft with a started file': async (world, kind) => {
    const draft = await newDraft(world, kind, true);
    await world.author.sure('POST', link(draft, 'files'), { json: [{ key: FILE }] });
    return placeOf(draft, { filename: FILE });
  },
  'a draft with an uploaded file': async (world, kind) => {
    const draft = await newDraft(world, kind, true);
    await world.author.sure('POST', link(draft, 'files'), { json: [{ key: FILE }] });
    await world.author.sure('PUT', `${link(draft, 'files')}/${FILE}/content`, { bytes: CONTENT });
    return placeOf(draft, { filename: FILE });
  },
  'a draft with a file': async (world, kind) => {
    const draft = await newDraft(world, kind, true);
    await upload(world.author, draft, FILE, CONTENT);
    return placeOf(draft, { filename: FILE });
  },
  'a published one': async (world, kind) => placeOf(await newPublished(world, kind)),
  'an edit draft': async (world, kind) => {
    const published = await newPublished(world, kind);
    await world.author.sure('POST', link(published, 'draft'));
    return placeOf(published);
  },
  'a link': async (world, kind) => {
    const draft = await newDraft(world, kind);
    const json = { permission: 'preview' };
    const { id } = await world.author.sure<AccessLink>('POST', link(draft, 'access_links'), { json });
    return placeOf(draft, { 'link-id': id });
  },
  'a resource outside': async (world) =>
    placeOf(await newDraft(world, 'packages'), { resource: (await newDraft(world, 'records')).id }),
  'a resource in context': async (world) => {
    const [main, resource] = [await newDraft(world, 'packages'), await newDraft(world, 'records')];
    const json = { records: [{ id: resource.id }] };
    await world.author.sure('POST', link(main, 'context_associate'), { json });
    return placeOf(main, { resource: resource.id });
  },
  'a resource inside': async (world) => {
    const [main, resource] = [await newDraft(world, 'packages'), await newDraft(world, 'records')];
    await relate(world.author, main, [resource]);
    return placeOf(main, { resource: resource.id });
  },
  'a later version': async (world) => {
    const [main, resource] = [await newDraft(world, 'packages'), await newDraft(world, 'records')];
    await relate(world.author, main, [resource]);
    const published = await publish(world.author, main);
    const next = await world.author.sure<Entity>('POST', link(published, 'versions'));
    return placeOf(next, { resource: resource.id });
  },
} as const satisfies Record<string, (world: World, kind: Collection) => Promise<Place>>;

export type Standing = keyof typeof STANDING;

function newDraft({ author, kinds }: World, kind: Collection, withFiles?: boolean): Promise<Entity> {
  const json = kinds[kind].document('Changing', withFiles);
  return author.sure<Entity>('POST', `/${kind}`, { json });
}

async function newPublished(world: World, kind: Collection): Promise<Entity> {
  return publish(world.author, await newDraft(world, kind));
}

function placeOf({ id, parent }: Entity, more: Place = {}): Place {
  return { id, 'parent-id': parent.id, ...more };
}

import type { AccessLink, Entity, FilesListing } from '../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import type { HttpClient } from '../e2e/story/http-client.ts';
import { link, publish, relate, upload } from '../e2e/story/stories.ts';
import type { LinkName } from './callers.ts';
import { ACCESS, type Access, type Collection, type State } from './states.ts';

/** One entity with everything that its routes need. */
export interface Place {
  collection: Collection;
  state: State;
  id: string;
  parentId: string;
  /** A word that only this form's title has. */
  words: { published?: string; draft?: string };
  /** The tokens of its links, or of those of the package that manages it. */
  links: Partial<Record<LinkName, string>>;
  /** A link that no caller presents. */
  spareLinkId: string;
  /** Of a resumable upload of `big.txt`, where files may be uploaded. */
  uploadId: string;
  /** A resource in the package; it is published when the package was. */
  partId: string;
  /** A resource draft of the owner that no package manages, and a published one. */
  looseId: string;
  relatedId: string;
}

export interface PlaceWish {
  collection: Collection;
  state: State;
  links: readonly LinkName[];
  /** Whether there are pending files, and an upload of one. Such a draft cannot be published. */
  hasUploads: boolean;
  relatedId: string;
}

/** Committed, started, and uploaded to, alternately. */
export const KEYS = { committed: 'a.txt', started: 'new.txt', uploaded: 'big.txt' } as const;
const CONTENT = Buffer.from('the content of the file');
export const UPLOAD_LENGTH = 3;
const NO_UPLOAD = '00000000-0000-4000-8000-000000000000';
/** How long a link holds that is to be presented when it has expired. */
const SHORT_LIFE_MS = 10_000;

let wordCount = 0;
/** A word that no title has had. */
export function newWord(): string {
  wordCount += 1;
  return `zq${[...String(wordCount)].map((digit) => 'bcdfghjklm'[Number(digit)]).join('')}x`;
}

export function documentOf(collection: Collection, title: string, access: Access, withFiles = true) {
  const wishes = { access: ACCESS[access], withFiles };
  return collection === 'records' ? recordDocument(title, wishes) : packageDocument(title, wishes);
}

/** Makes an entity in a state, as its owner does by the public interface. */
export async function buildPlace(owner: HttpClient, wish: PlaceWish): Promise<Place> {
  const { collection, state, hasUploads, relatedId } = wish;
  const { stage, published, draft } = state;
  const isUnpublished = stage === 'draft';
  const first = newWord();
  const entity = await owner.sure<Entity>('POST', `/${collection}`, {
    json: documentOf(collection, first, isUnpublished ? draft : published),
  });
  await upload(owner, entity, KEYS.committed, CONTENT);
  const part =
    collection === 'packages' ? await addPart(owner, entity, isUnpublished ? draft : published) : '';
  const main = state.isManaged === true ? await addToPackage(owner, entity) : entity;
  if (!isUnpublished) await publish(owner, main);

  let current = entity;
  let words: Place['words'] = isUnpublished ? { draft: first } : { published: first };
  if (stage === 'edited' || stage === 'version') {
    const word = newWord();
    const opened = await owner.sure<Entity>(
      'POST',
      `/${collection}/${entity.id}/${stage === 'edited' ? 'draft' : 'versions'}`,
    );
    current = await owner.sure<Entity>('PUT', `/${collection}/${opened.id}/draft`, {
      json: documentOf(collection, word, draft),
    });
    words = stage === 'edited' ? { ...words, draft: word } : { draft: word };
    if (stage === 'version') {
      await upload(owner, current, KEYS.committed, CONTENT);
      if (part !== '')
        await owner.sure('POST', link(current, 'resources'), { json: { resources: [{ id: part }] } });
    }
  }
  const canUpload = hasUploads && (stage === 'draft' || stage === 'version');
  return {
    collection,
    state,
    id: current.id,
    parentId: current.parent.id,
    words,
    links: await makeLinks(owner, main, wish.links),
    spareLinkId: (await share(owner, current, 'view')).id,
    uploadId: canUpload ? await startUpload(owner, current) : NO_UPLOAD,
    partId: part,
    looseId: collection === 'packages' ? (await looseRecord(owner)).id : '',
    relatedId,
  };
}

async function addPart(owner: HttpClient, main: Entity, access: Access): Promise<string> {
  const json = documentOf('records', newWord(), access, false);
  const part = await owner.sure<Entity>('POST', '/records', { json });
  await relate(owner, main, [part]);
  return part.id;
}

async function addToPackage(owner: HttpClient, resource: Entity): Promise<Entity> {
  const json = documentOf('packages', newWord(), 'restricted', false);
  const main = await owner.sure<Entity>('POST', '/packages', { json });
  await relate(owner, main, [resource]);
  return main;
}

export function looseRecord(owner: HttpClient): Promise<Entity> {
  return owner.sure<Entity>('POST', '/records', {
    json: documentOf('records', newWord(), 'restricted', false),
  });
}

function share(
  owner: HttpClient,
  entity: Entity,
  permission: string,
  more: object = {},
): Promise<AccessLink> {
  return owner.sure<AccessLink>('POST', link(entity, 'access_links'), { json: { permission, ...more } });
}

/** If a slow machine lets it expire before use, a longer lifetime is tried. */
async function shareFor(lifeMs: number, owner: HttpClient, entity: Entity): Promise<AccessLink> {
  const expires_at = new Date(Date.now() + lifeMs).toISOString();
  try {
    return await share(owner, entity, 'edit', { expires_at });
  } catch (thrown) {
    if (Date.now() < Date.parse(expires_at)) throw thrown;
    return shareFor(4 * lifeMs, owner, entity);
  }
}

async function makeLinks(
  owner: HttpClient,
  entity: Entity,
  names: readonly LinkName[],
): Promise<Place['links']> {
  const made = names
    .filter((name) => name !== 'foreign')
    .map(async (name): Promise<[LinkName, string]> => {
      if (name === 'expired') return [name, (await shareFor(SHORT_LIFE_MS, owner, entity)).token];
      if (name !== 'revoked') return [name, (await share(owner, entity, name)).token];
      const { id, token } = await share(owner, entity, 'edit');
      await owner.sure('DELETE', `${link(entity, 'access_links')}/${id}`);
      return [name, token];
    });
  return Object.fromEntries(await Promise.all(made));
}

async function startUpload(owner: HttpClient, draft: Entity): Promise<string> {
  const json = [{ key: KEYS.started }, { key: KEYS.uploaded }];
  const { entries } = await owner.sure<FilesListing>('POST', link(draft, 'files'), { json });
  const entry = entries.find(({ key }) => key === KEYS.uploaded);
  if (entry === undefined) throw new Error(`${KEYS.uploaded} was not started`);
  const { status, headers } = await owner.call('POST', link(entry, 'tus'), {
    headers: { 'tus-resumable': '1.0.0', 'upload-length': String(UPLOAD_LENGTH) },
  });
  const id = headers.get('location')?.split('/').at(-1);
  if (status !== 201 || id === undefined) throw new Error(`no upload was begun: ${status}`);
  return id;
}

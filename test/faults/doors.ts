import type { Entity } from '../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import type { HttpClient, Sent } from '../e2e/story/http-client.ts';
import { link, publish, publishedRecord, relate, upload } from '../e2e/story/stories.ts';

export type Collection = 'records' | 'packages';

/** A draft with everything that the routes of a draft can be tried on. */
export interface Place {
  collection: Collection;
  draft: Entity;
  /** Of a file that may be written to. */
  key: string;
  linkId: string;
  /** A resource draft that no package manages yet, and a published one. */
  loose: Entity;
  related: Entity;
  /** The token of a link that lets its holder edit. */
  token: string;
}

interface Door {
  sends: (place: Place) => Sent;
  /** The answer while the draft is open. */
  whenOpen: number;
}

const NOTHING = (): Sent => ({});
const OLD_KEY = 'old.txt';
const TUS = { 'tus-resumable': '1.0.0' };
/** Of no upload: an open door returns it. */
const UPLOAD_ID = '00000000-0000-4000-8000-000000000000';
const documentOf = ({ collection }: Place, title: string) =>
  (collection === 'records' ? recordDocument : packageDocument)(title, { withFiles: true });

/**
 * Requests that change a draft, by method and path below the entity, in an order in which all of them
 * succeed.
 */
export const DOORS: Readonly<Record<string, Door>> = {
  'PUT /draft': { sends: (place) => ({ json: documentOf(place, 'Changed') }), whenOpen: 200 },
  'POST /draft/pids/{scheme}': { sends: NOTHING, whenOpen: 201 },
  'DELETE /draft/pids/{scheme}': { sends: NOTHING, whenOpen: 200 },
  'POST /draft/actions/files-import': { sends: NOTHING, whenOpen: 201 },
  'POST /draft/files': { sends: ({ key }) => ({ json: [{ key }] }), whenOpen: 201 },
  'PUT /draft/files/{key}/content': { sends: () => ({ bytes: Buffer.from('new') }), whenOpen: 200 },
  'POST /draft/files/{key}/tus': {
    sends: () => ({ headers: { ...TUS, 'upload-length': '3' } }),
    whenOpen: 201,
  },
  'PATCH /draft/files/{key}/tus/{uploadId}': {
    sends: () => ({
      headers: { ...TUS, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
    }),
    whenOpen: 404,
  },
  'DELETE /draft/files/{key}/tus/{uploadId}': { sends: () => ({ headers: TUS }), whenOpen: 404 },
  'POST /draft/files/{key}/commit': { sends: NOTHING, whenOpen: 200 },
  'PUT /draft/files/{key}': { sends: () => ({ json: { caption: 'New' } }), whenOpen: 200 },
  'DELETE /draft/files/{key}': { sends: NOTHING, whenOpen: 204 },
  'DELETE /draft/files': { sends: NOTHING, whenOpen: 204 },
  'PUT /context': { sends: () => ({ json: { access: { record_policy: 'closed' } } }), whenOpen: 204 },
  'POST /context/actions/associate': {
    sends: ({ loose }) => ({ json: { records: [{ id: loose.id }] } }),
    whenOpen: 204,
  },
  'POST /context/actions/dissociate': {
    sends: ({ loose }) => ({ json: { records: [{ id: loose.id }] } }),
    whenOpen: 204,
  },
  'POST /draft/resources': {
    sends: ({ related }) => ({ json: { resources: [{ id: related.id }] } }),
    whenOpen: 200,
  },
  'DELETE /draft/resources': {
    sends: ({ related }) => ({ json: { resources: [{ id: related.id }] } }),
    whenOpen: 200,
  },
  'POST /draft/actions/resources-import': { sends: NOTHING, whenOpen: 204 },
  'DELETE /draft': { sends: NOTHING, whenOpen: 204 },
};

interface NoDoor {
  because: string;
  sends: (place: Place) => Sent;
  whileLocked: Readonly<Record<Collection, number>>;
}

const both = (status: number) => ({ packages: status, records: status });

/**
 * Requests that do not change a draft. Publishing it again waits for the same decision and has a separate
 * test.
 */
export const NO_DOORS: Readonly<Record<string, NoDoor>> = {
  'POST /draft': {
    because: 'it answers with the draft that is open',
    sends: NOTHING,
    whileLocked: both(201),
  },
  'POST /versions': {
    because: 'it is for published entities, which this is not yet',
    sends: NOTHING,
    whileLocked: both(404),
  },
  'POST /draft/actions/validate': {
    because: 'it only reads, as far as the publication lets others look',
    sends: NOTHING,
    whileLocked: { packages: 200, records: 409 },
  },
  'DELETE ': { because: 'it is for published entities', sends: NOTHING, whileLocked: both(404) },
  'POST /restore': { because: 'it is for removed entities', sends: NOTHING, whileLocked: both(404) },
  'POST /access/links': {
    because: 'links are the parent’s, not the draft’s',
    sends: () => ({ json: { permission: 'view' } }),
    whileLocked: both(201),
  },
  'PATCH /access/links/{linkId}': {
    because: 'as above',
    sends: () => ({ json: { permission: 'preview' } }),
    whileLocked: both(200),
  },
  'DELETE /access/links/{linkId}': { because: 'as above', sends: NOTHING, whileLocked: both(204) },
};

export const PUBLISHING = 'POST /draft/actions/publish';

/** Calls a route of the table on a draft. */
export function knock(client: HttpClient, route: string, sends: Door['sends'], place: Place) {
  const [method, path] = route.split(' ') as [string, string];
  const target = path
    .replace('{scheme}', 'doi')
    .replace('{key}', place.key)
    .replace('{uploadId}', UPLOAD_ID)
    .replace('{linkId}', place.linkId);
  return client.call<{ code?: string }>(
    method,
    `/${place.collection}/${place.draft.id}${target}`,
    sends(place),
  );
}

/**
 * New versions of a package and of a resource that it manages and contains, with files in the previous versions.
 * Those in `ready` have separate files and may be published.
 */
export async function places(
  author: HttpClient,
  { isReady }: { isReady: boolean },
): Promise<Record<Collection, Place>> {
  const create = async (collection: Collection, json: object) => {
    const draft = await author.sure<Entity>('POST', `/${collection}`, { json });
    await upload(author, draft, OLD_KEY, Buffer.from('old'));
    return draft;
  };
  const main = await create('packages', packageDocument('Whole', { withFiles: true }));
  const part = await create('records', recordDocument('Part', { withFiles: true }));
  await relate(author, main, [part]);
  const first = await publish(author, main);
  const next = await Promise.all(
    [`/packages/${first.id}/versions`, `/records/${part.id}/versions`].map((versions) =>
      author.sure<Entity>('POST', versions),
    ),
  );
  const [nextMain, nextPart] = next as [Entity, Entity];
  await author.sure('POST', link(nextMain, 'resources'), { json: { resources: [{ id: nextPart.id }] } });
  const shared = {
    key: isReady ? OLD_KEY : 'new.txt',
    loose: await author.sure<Entity>('POST', '/records', { json: recordDocument('Loose') }),
    related: await publishedRecord(author, 'Related'),
  };
  const place = async (collection: Collection, draft: Entity): Promise<Place> => {
    const all = { ...shared, collection, draft, linkId: '', token: '' };
    await author.sure('PUT', link(draft, 'self'), { json: documentOf(all, 'Next') });
    if (isReady) await author.sure('POST', `/${collection}/${draft.id}/draft/actions/files-import`);
    const share = (permission: string) =>
      author.sure<{ id: string; token: string }>('POST', `/${collection}/${draft.id}/access/links`, {
        json: { permission },
      });
    return { ...all, token: (await share('edit')).token, linkId: (await share('view')).id };
  };
  return { packages: await place('packages', nextMain), records: await place('records', nextPart) };
}

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient, type Sent } from './story/http-client.ts';
import { link, publish, publishedRecord, upload } from './story/stories.ts';

let system: SharedSystem;
let author: HttpClient;
let draft: Entity;
let published: Entity;
let main: Entity;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  draft = await author.sure<Entity>('POST', '/records', {
    json: recordDocument('A draft', { withFiles: true }),
  });
  published = await publishedRecord(author, 'Published');
  main = await publish(
    author,
    await author.sure<Entity>('POST', '/packages', { json: packageDocument('A package') }),
  );
});
afterAll(() => system?.stop());

interface Hinted {
  message?: string;
  code?: string;
  hint?: string;
  errors?: { field: string; messages: string[]; hint?: string }[];
}

const created = (metadata: object) => {
  const document = recordDocument('Odd');
  return ask('POST', '/records', { json: { ...document, metadata: { ...document.metadata, ...metadata } } });
};
const ask = async (method: string, target: string, sent?: Sent): Promise<Hinted> =>
  (await author.call<Hinted>(method, target, sent)).body;

const RING = [
  [0, 0],
  [1, 0],
  [1, 1],
  [0, 1],
];

test.each<[message: string, act: () => Promise<Hinted>, hint: string | RegExp]>([
  [
    'Invalid input type.',
    () => created({ resource_type: 'dataset' }),
    'Expected an object such as {"id": "dataset"}.',
  ],
  [
    'Invalid value en.',
    () => created({ languages: [{ id: 'en' }] }),
    '"en" is not in the vocabulary languages; did you mean "eng"?',
  ],
  [
    "Invalid value. Choose one of ['organizational', 'personal'].",
    () => created({ creators: [{ person_or_org: { type: 'person', name: 'x' } }] }),
    'Must be one of: organizational, personal.',
  ],
  [
    "Revision id provided(99) doesn't match record's one(4)",
    () => ask('PUT', link(draft, 'self'), { json: recordDocument('New'), headers: { 'if-match': '"99"' } }),
    /^The record is at revision \d+, not 99; read it again\.$/,
  ],
  [
    'Invalid querystring parameters.',
    () => ask('GET', '/records?bbox=1,2,3'),
    'bbox: give four numbers: west,south,east,north.',
  ],
  [
    'Not a valid datetime.',
    () => ask('POST', link(draft, 'access_links'), { json: { permission: 'view', expires_at: 'soon' } }),
    'Write a date and time as 2026-12-31T00:00:00Z.',
  ],
  [
    'The file upload transfer failed, please try again.',
    async () => {
      await upload(author, draft, 'water.csv', Buffer.from('1'));
      return ask('PUT', `${link(draft, 'files')}/water.csv/content`, { bytes: Buffer.from('2') });
    },
    'water.csv is complete already; delete it before you upload it again.',
  ],
  [
    "Invalid sort option 'title'.",
    () => ask('GET', '/records?sort=title'),
    /^sort: must be one of: bestmatch, newest, oldest, version/,
  ],
  [
    'No secret link found with the given ID.',
    () => ask('GET', `${link(draft, 'access_links')}/0b3ad7cd-8a0c-4ad1-9c6b-1b7d3a1c9d55`),
    'There is no such access link.',
  ],
  [
    'The persistent identifier is not registered.',
    () => ask('GET', `/records/${draft.id}`),
    'This is a draft that has not been published.',
  ],
  [
    'Permission denied.',
    () => ask('DELETE', `/records/${published.id}`),
    'Published entities cannot be deleted; an administrator can remove them.',
  ],
  [
    'Not found.',
    () => ask('GET', `/records/${main.id}`),
    /^(\w{5}-\w{5}) is a package: \/api\/packages\/\1\.$/,
  ],
  [
    'Invalid input type.',
    () => ask('POST', `/packages/${main.id}/context/actions/associate`, { json: { records: ['x'] } }),
    'Expected an object such as {"id": "…"}.',
  ],
  [
    'A PID already exists for type doi',
    async () => {
      await author.sure('POST', `/records/${draft.id}/draft/pids/doi`);
      return ask('POST', `/records/${draft.id}/draft/pids/doi`);
    },
    'The draft already has an identifier of type doi.',
  ],
  [
    'Not valid coordinates of a Polygon.',
    () => created({ locations: { features: [{ geometry: { type: 'Polygon', coordinates: [RING] } }] } }),
    /^The first and last position of a ring must be the same/,
  ],
  [
    'An access permission level is required',
    () => ask('POST', link(draft, 'access_links'), { json: {} }),
    'permission is required: view, preview or edit.',
  ],
])('%s is explained', async (message, act, hint) => {
  const body = await act();
  const texts = [body.message, ...(body.errors ?? []).flatMap(({ messages }) => messages)];
  expect(texts.map((text) => text?.replace(/one\(\d+\)$/, 'one(4)'))).toContain(message);
  const hints = [body.hint, ...(body.errors ?? []).map((error) => error.hint)].filter(Boolean);
  expect(hints).toEqual(
    expect.arrayContaining([typeof hint === 'string' ? hint : expect.stringMatching(hint)]),
  );
});

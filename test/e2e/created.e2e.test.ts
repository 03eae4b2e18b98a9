import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type Answer, type HttpClient, httpClient, type Sent } from './story/http-client.ts';
import { publish, upload } from './story/stories.ts';

interface Operation {
  responses: Record<string, unknown>;
}

const KINDS = [
  { kind: 'records', document: recordDocument },
  { kind: 'packages', document: packageDocument },
] as const;
type Kind = (typeof KINDS)[number];

let system: SharedSystem;
let author: HttpClient;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
});
afterAll(() => system?.stop());

const draftWithFiles = ({ kind, document }: Kind) =>
  author.sure<Entity>('POST', `/${kind}`, { json: document('With files', { withFiles: true }) });
async function published(of: Kind): Promise<Entity> {
  const draft = await draftWithFiles(of);
  await upload(author, draft, 'a.txt', Buffer.from('hello'));
  return publish(author, draft);
}
const nextVersion = async (of: Kind) =>
  author.sure<Entity>('POST', `/${of.kind}/${(await published(of)).id}/versions`);

interface Creation {
  target: string;
  sent?: Sent;
  /** The path of the created resource, below `/api`; `*` for ids that only the answer has. */
  location: string;
  /** False if the created resource has no GET. */
  isRead?: boolean;
}

/** Each operation that answers 201, by its path in the OpenAPI description. */
const OF_ENTITIES: Record<string, (of: Kind) => Promise<Creation>> = {
  '': async ({ kind, document }) => ({
    target: `/${kind}`,
    sent: { json: document('New') },
    location: `/${kind}/*/draft`,
  }),
  '/{id}/versions': async (of) => ({
    target: `/${of.kind}/${(await published(of)).id}/versions`,
    location: `/${of.kind}/*/draft`,
  }),
  '/{id}/draft': async (of) => {
    const { id } = await published(of);
    return { target: `/${of.kind}/${id}/draft`, location: `/${of.kind}/${id}/draft` };
  },
  '/{id}/draft/actions/files-import': async (of) => {
    const { id } = await nextVersion(of);
    return {
      target: `/${of.kind}/${id}/draft/actions/files-import`,
      location: `/${of.kind}/${id}/draft/files`,
    };
  },
  '/{id}/draft/pids/{scheme}': async (of) => {
    const { id } = await draftWithFiles(of);
    return { target: `/${of.kind}/${id}/draft/pids/doi`, location: `/${of.kind}/${id}/draft` };
  },
  '/{id}/draft/files': async (of) => {
    const { id } = await draftWithFiles(of);
    return {
      target: `/${of.kind}/${id}/draft/files`,
      sent: { json: [{ key: 'a.txt' }] },
      location: `/${of.kind}/${id}/draft/files`,
    };
  },
  '/{id}/draft/files/{key}/tus': async (of) => {
    const { id } = await draftWithFiles(of);
    await author.sure('POST', `/${of.kind}/${id}/draft/files`, { json: [{ key: 'a.txt' }] });
    return {
      target: `/${of.kind}/${id}/draft/files/a.txt/tus`,
      sent: { headers: { 'tus-resumable': '1.0.0', 'upload-length': '5' } },
      location: `/${of.kind}/${id}/draft/files/a.txt/tus/*`,
      isRead: false,
    };
  },
  '/{id}/access/links': async (of) => {
    const { id } = await published(of);
    return {
      target: `/${of.kind}/${id}/access/links`,
      sent: { json: { permission: 'view' } },
      location: `/${of.kind}/${id}/access/links/*`,
    };
  },
};

const CREATIONS: [operation: string, make: () => Promise<Creation>][] = [
  ...KINDS.flatMap((of) =>
    Object.entries(OF_ENTITIES).map(([path, make]): [string, () => Promise<Creation>] => [
      `/api/${of.kind}${path}`,
      () => make(of),
    ]),
  ),
  [
    '/api/user/tokens',
    async () => ({
      target: '/user/tokens',
      sent: { json: { name: 'one' } },
      location: '/user/tokens/*',
      isRead: false,
    }),
  ],
];

test('every operation that answers 201 is tried', async () => {
  const { paths } = await author.sure<{ paths: Record<string, Record<string, Operation>> }>(
    'GET',
    '/openapi.json',
  );
  const described = Object.entries(paths).flatMap(([path, { post }]) =>
    post?.responses['201'] === undefined ? [] : [path],
  );
  expect(described.sort()).toEqual(CREATIONS.map(([path]) => path).sort());
});

test.each(CREATIONS)('POST %s names what it created, also when it is repeated', async (operation, make) => {
  const { target, sent = {}, location, isRead = true } = await make();
  const key = { 'idempotency-key': `create ${operation}` };
  const isKeyed = !operation.endsWith('/tus');
  const create = (): Promise<Answer<unknown>> =>
    author.call('POST', target, { ...sent, headers: { ...sent.headers, ...(isKeyed ? key : {}) } });
  const answer = await create();
  const named = answer.headers.get('location') ?? '';
  expect([answer.status, named.replace(`${system.baseUrl}/api`, '')]).toEqual([
    201,
    expect.stringMatching(new RegExp(`^${location.replaceAll('*', '[\\w-]+')}$`)),
  ]);
  if (isRead) expect((await author.call('GET', named)).status).toBe(200);
  if (!isKeyed) return;
  const repeated = await create();
  expect([
    repeated.status,
    repeated.headers.get('idempotency-replayed'),
    repeated.headers.get('location'),
  ]).toEqual([201, 'true', named]);
});

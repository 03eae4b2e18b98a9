import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import pg from 'pg';
import type { AccessLink, Entity } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type Answer, type HttpClient, httpClient } from './story/http-client.ts';
import { link, publish, relate, upload } from './story/stories.ts';

const RESTRICTED = { record: 'restricted', files: 'restricted' };
const FILES_ONLY = { record: 'public', files: 'restricted' };
const KINDS = [
  { kind: 'records', document: recordDocument },
  { kind: 'packages', document: packageDocument },
] as const;
const SECRET = randomBytes(3_000);

let system: SharedSystem;
let author: HttpClient;
let anonymous: HttpClient;
let linkRows: pg.Pool;
beforeAll(async () => {
  system = await sharedSystem();
  linkRows = new pg.Pool({ connectionString: system.databaseUrls['access-links'], max: 1 });
  author = httpClient(system.baseUrl, system.token);
  anonymous = httpClient(system.baseUrl);
});
afterAll(async () => {
  await linkRows?.end();
  await system?.stop();
});

/** The ways to request an archive; all but the last return bytes, or their headers. */
const WAYS: { way: string; method?: string; headers: (etag: string) => Record<string, string> }[] = [
  { way: 'whole', headers: () => ({}) },
  { way: 'its head', method: 'HEAD', headers: () => ({}) },
  { way: 'its beginning', headers: () => ({ range: 'bytes=0-99' }) },
  { way: 'its middle', headers: () => ({ range: 'bytes=500-1499' }) },
  { way: 'its end', headers: () => ({ range: 'bytes=-22' }) },
  { way: 'two parts', headers: () => ({ range: 'bytes=0-9,2000-2009' }) },
  { way: 'the rest, if it is the same', headers: (etag) => ({ range: 'bytes=100-', 'if-range': etag }) },
  { way: 'behind its end', headers: () => ({ range: 'bytes=99999999-' }) },
  { way: 'unless it is the same', headers: (etag) => ({ 'if-none-match': etag }) },
];

const addressed = (target: string, shared?: { token: string }) =>
  shared === undefined ? target : `${target}?token=${encodeURIComponent(shared.token)}`;

interface Heard {
  way: string;
  status: number;
  bytes: string;
  told: Record<string, string | null>;
}

async function askedInAllWays(client: HttpClient, target: string, etag: string): Promise<Heard[]> {
  const heard: Heard[] = [];
  for (const { way, method = 'GET', headers } of WAYS) {
    const answer = await client.call(method, target, { headers: headers(etag) });
    // The parts of a multipart answer have a separator that is drawn for each.
    const isMultipart = answer.headers.get('content-type')?.startsWith('multipart/') === true;
    heard.push({
      way,
      status: answer.status,
      bytes: isMultipart ? '' : answer.bytes.toString('hex'),
      told: toldOf(answer),
    });
  }
  return heard;
}

/** The headers that describe the bytes. */
function toldOf({ headers }: Answer<unknown>): Record<string, string | null> {
  const names = [
    'etag',
    'content-range',
    'content-md5',
    'repr-digest',
    'last-modified',
    'content-disposition',
  ];
  return Object.fromEntries(names.map((name) => [name, headers.get(name)]));
}

const NOTHING_TOLD = Object.fromEntries(
  ['etag', 'content-range', 'content-md5', 'repr-digest', 'last-modified', 'content-disposition'].map(
    (name) => [name, null],
  ),
);

async function share(entity: Entity, permission: string, more: object = {}): Promise<AccessLink> {
  return author.sure('POST', link(entity, 'access_links'), { json: { permission, ...more } });
}

/** Links that were good once: that they are no more is seen at the entity, not at its archive. */
async function endedLinks(entity: Entity): Promise<{ expired: AccessLink; revoked: AccessLink }> {
  const expired = await share(entity, 'edit', { expires_at: '2199-01-01T00:00:00' });
  await linkRows.query("update access_link set expires_at = now() - interval '1 second' where id = $1", [
    expired.id,
  ]);
  const revoked = await share(entity, 'edit');
  await author.sure('DELETE', `${link(entity, 'access_links')}/${revoked.id}`);
  for (const ended of [expired, revoked])
    await until(async () => {
      const { status } = await anonymous.call('GET', addressed(`${link(entity, 'self')}`, ended));
      return status !== 200;
    });
  return { expired, revoked };
}

describe.each(KINDS)('the archive of the files of restricted $kind', ({ kind, document }) => {
  let entity: Entity;
  let draft: Entity;
  let links: Record<string, AccessLink | undefined>;
  beforeAll(async () => {
    const created = await author.sure<Entity>('POST', `/${kind}`, {
      json: document('With an archive', { access: RESTRICTED, withFiles: true }),
    });
    await upload(author, created, 'secret.bin', SECRET);
    await upload(author, created, 'b.txt', Buffer.from('secret too'));
    entity = await publish(author, created);
    draft = await author.sure<Entity>('POST', link(entity, 'versions'));
    await author.sure('PUT', link(draft, 'self'), {
      json: document('With an archive', { access: RESTRICTED, withFiles: true }),
    });
    await upload(author, draft, 'drafted.bin', SECRET);
    const other = await author.sure<Entity>('POST', `/${kind}`, {
      json: document('Another', { access: RESTRICTED }),
    });
    links = {
      nobody: undefined,
      view: await share(entity, 'view'),
      preview: await share(entity, 'preview'),
      edit: await share(entity, 'edit'),
      foreign: await share(other, 'edit'),
      ...(await endedLinks(entity)),
    };
  });

  test.each([
    { door: 'what is published', refusal: 403, opens: ['view', 'preview', 'edit'] },
    { door: 'a draft', refusal: 403, opens: ['preview', 'edit'] },
  ])(
    'opens at $door to $opens, in whole and in part, and to no other caller',
    async ({ door, refusal, opens }) => {
      const target = link(door === 'a draft' ? draft : entity, 'archive');
      const etag = (await author.call('HEAD', target)).headers.get('etag') ?? '';
      const owned = await askedInAllWays(author, target, etag);
      expect(owned.map(({ status }) => status)).toEqual([200, 200, 206, 206, 206, 200, 206, 416, 304]);
      expect(owned[0]?.bytes).toContain(SECRET.toString('hex'));
      for (const [name, shared] of Object.entries(links)) {
        const heard = await askedInAllWays(anonymous, addressed(target, shared), etag);
        if (opens.includes(name)) {
          expect([name, heard]).toEqual([name, owned]);
          continue;
        }
        // Without a valid link the answer is 401 if the archive is private.
        const isAsked = door === 'a draft' && ['nobody', 'expired', 'revoked'].includes(name);
        const status = isAsked ? 401 : refusal;
        expect([name, heard.map(({ way, status: answered, told }) => [way, answered, told])]).toEqual([
          name,
          WAYS.map(({ way }) => [way, status, NOTHING_TOLD]),
        ]);
        const [secret] = [SECRET.subarray(0, 32).toString('hex')];
        expect(heard.some(({ bytes }) => bytes.includes(secret) || bytes.includes('504b0304'))).toBe(false);
      }
    },
  );
});

test('the archive of restricted files of a public record is as closed as that of a restricted one', async () => {
  const created = await author.sure<Entity>('POST', '/records', {
    json: recordDocument('Its files are not for all', { access: FILES_ONLY, withFiles: true }),
  });
  await upload(author, created, 'secret.bin', SECRET);
  const published = await publish(author, created);
  const target = link(published, 'archive');
  const shared = await share(published, 'view');
  const statuses = [
    (await anonymous.call('GET', link(published, 'self'))).status,
    (await anonymous.call('GET', target)).status,
    (await anonymous.call('GET', target, { headers: { range: 'bytes=0-99' } })).status,
    (await anonymous.call('GET', addressed(target, shared), { headers: { range: 'bytes=0-99' } })).status,
  ];
  expect(statuses).toEqual([200, 403, 403, 206]);
});

test('a link of a package opens the archives of its resources, and those of no others', async () => {
  const main = await author.sure<Entity>('POST', '/packages', {
    json: packageDocument('With archives inside', { access: RESTRICTED }),
  });
  const created: Entity[] = [];
  for (const title of ['Managed', 'Loose']) {
    const json = recordDocument(title, { access: RESTRICTED, withFiles: true });
    const record = await author.sure<Entity>('POST', '/records', { json });
    await upload(author, record, 'secret.bin', SECRET);
    created.push(record);
  }
  await relate(author, main, created.slice(0, 1));
  const shared = await share(main, 'preview');
  const statuses = await Promise.all(
    created.map(async (record) => {
      const target = addressed(link(record, 'archive'), shared);
      return (await anonymous.call('GET', target, { headers: { range: 'bytes=0-99' } })).status;
    }),
  );
  expect(statuses).toEqual([206, 403]);
});

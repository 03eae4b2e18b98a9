import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { AccessLink, Entity } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, packageOfResources, publish, publishedRecord, relate, upload } from './story/stories.ts';

let system: SharedSystem;
let author: HttpClient;
let visitor: HttpClient;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  visitor = httpClient(system.baseUrl);
});
afterAll(() => system?.stop());

async function tagOf(client: HttpClient, target: string, accept = 'application/json'): Promise<string> {
  const { status, headers } = await client.call('GET', target, { headers: { accept } });
  const tag = headers.get('etag');
  if (status !== 200 || tag === null) throw new Error(`GET ${target} answered ${status} with the tag ${tag}`);
  return tag;
}

/** The document, once it is another one than that of the tag; undefined while it is the same. */
async function changedSince(client: HttpClient, target: string, tag: string): Promise<Entity | undefined> {
  const answer = await client.call<Entity>('GET', target, { headers: { 'if-none-match': tag } });
  if (answer.status !== 200 && answer.status !== 304) throw new Error(answer.text);
  return answer.status === 200 ? answer.body : undefined;
}

function createRecord(title: string): Promise<Entity> {
  return author.sure<Entity>('POST', '/records', { json: recordDocument(title) });
}

async function publishNextVersion(entity: Entity): Promise<Entity> {
  const draft = await author.sure<Entity>('POST', link(entity, 'versions'));
  await author.sure('PUT', link(draft, 'self'), { json: recordDocument('The next version') });
  return publish(author, draft);
}

describe('the tag of an unchanged document', () => {
  test('is the revision for its owner, in drafts and published', async () => {
    const draft = await createRecord('Tagged');
    const ofDraft = await tagOf(author, link(draft, 'self'));
    const published = await publish(author, draft);
    const ofPublished = await tagOf(author, link(published, 'self'));
    expect([ofDraft, ofPublished]).toEqual([`"${draft.revision_id}"`, `"${published.revision_id}"`]);
  });

  test.each(['author', 'visitor'])('causes no second read: %s', async (who) => {
    const client = who === 'author' ? author : visitor;
    const first = await publishedRecord(author, 'Read twice');
    await publishNextVersion(first);
    const tag = await tagOf(client, link(first, 'self'));
    expect(await changedSince(client, link(first, 'self'), tag)).toBeUndefined();
  });
});

describe('the tag of a representation changes', () => {
  test.each(['author', 'visitor'])('when a next version is published: %s', async (who) => {
    const client = who === 'author' ? author : visitor;
    const first = await publishedRecord(author, 'The first version');
    const tag = await tagOf(client, link(first, 'self'));
    await publishNextVersion(first);
    const now = await changedSince(client, link(first, 'self'), tag);
    expect(now?.versions).toMatchObject({ index: 1, is_latest: false });
    expect(now?.revision_id).toBe(first.revision_id);
  });

  test('when the draft of a next version is opened and discarded', async () => {
    const first = await publishedRecord(author, 'Latest draft');
    const self = link(first, 'self');
    const tag = await tagOf(author, self);
    const next = await author.sure<Entity>('POST', link(first, 'versions'));
    expect((await changedSince(author, self, tag))?.versions.is_latest_draft).toBe(false);
    await author.sure('DELETE', link(next, 'self'));
    expect(await tagOf(author, self)).toBe(tag);
  });

  test('when a draft is associated with a package and added to it', async () => {
    const draft = await createRecord('Associated');
    const tag = await tagOf(author, link(draft, 'self'));
    const main = await author.sure<Entity>('POST', '/packages', { json: packageDocument('Its package') });
    const ofPackage = await tagOf(author, link(main, 'self'));
    await relate(author, main, [draft]);
    const now = await until(async () => {
      const found = await changedSince(author, link(draft, 'self'), tag);
      return found?.relationship.packages?.length === 1 ? found : undefined;
    });
    expect(now.parent).toMatchObject({ relationship: { managed_by: { id: main.parent.id } } });
    const grown = await changedSince(author, link(main, 'self'), ofPackage);
    expect(grown?.relationship.resources).toEqual([{ id: draft.id }]);
  });

  test('when what is published is added to a package', async () => {
    const record = await publishedRecord(author, 'Added');
    const tag = await tagOf(visitor, link(record, 'self'));
    const main = await author.sure<Entity>('POST', '/packages', { json: packageDocument('Takes it') });
    await author.sure('POST', link(main, 'resources'), { json: { resources: [{ id: record.id }] } });
    await publish(author, main);
    const now = await until(async () => changedSince(visitor, link(record, 'self'), tag));
    expect([now.relationship.packages, now.revision_id]).toEqual([[{ id: main.id }], record.revision_id]);
  });

  test('when a draft gets its first file, and an access link', async () => {
    const json = recordDocument('With a file', { withFiles: true });
    const draft = await author.sure<Entity>('POST', '/records', { json });
    const self = link(draft, 'self');
    const bare = await tagOf(author, self);
    await upload(author, draft, 'a.txt', Buffer.from('a'));
    expect((await changedSince(author, self, bare))?.access.status).toBe('open');
    const withFile = await tagOf(author, self);
    const { id } = await author.sure<AccessLink>('POST', link(draft, 'access_links'), {
      json: { permission: 'view' },
    });
    const now = await until(async () => changedSince(author, self, withFile));
    expect(now.parent.access?.links).toEqual([{ id }]);
  });

  test('between callers and between media types with different representations', async () => {
    const record = await publishedRecord(author, 'Seen by many');
    const vendor = 'application/vnd.inveniordm.v1+json';
    const tags = [
      await tagOf(author, link(record, 'self')),
      await tagOf(author, link(record, 'self'), vendor),
      await tagOf(visitor, link(record, 'self')),
      await tagOf(visitor, link(record, 'self'), vendor),
    ];
    expect(new Set(tags).size).toBe(4);
  });
});

describe('a tag with more than the revision', () => {
  test('is taken by writers, as the revision alone is', async () => {
    const { resources } = await packageOfResources(author, 'Written to', 1);
    const [draft] = resources;
    if (draft === undefined) throw new Error('no resource');
    const self = link(draft, 'self');
    await until(async () => /\./.test(await tagOf(author, self)));
    const tag = await tagOf(author, self);
    const put = (ifMatch: string) =>
      author.call<Entity>('PUT', self, {
        json: recordDocument('Written'),
        headers: { 'if-match': ifMatch },
      });
    const first = await put(tag);
    const late = await put(tag);
    const bare = await put(String(first.body.revision_id));
    expect([first.status, late.status, bare.status]).toEqual([200, 412, 200]);
  });
});

describe('a list of tags in If-Match', () => {
  test('lets a change through where one of them is the revision that there is', async () => {
    const draft = await createRecord('Listed');
    const self = link(draft, 'self');
    const change = (method: string, target: string, ifMatch: string, json?: unknown) =>
      author.call<Entity>(method, target, {
        ...(json !== undefined && { json }),
        headers: { 'if-match': ifMatch },
      });
    const tags = (revision: number) => `"${revision + 7}", W/"${revision}.abc",${revision + 8}`;
    const put = await change('PUT', self, tags(draft.revision_id), recordDocument('Written'));
    const late = await change('PUT', self, tags(draft.revision_id), recordDocument('Overwritten'));
    const malformed = await change(
      'PUT',
      self,
      `${tags(put.body.revision_id)}, nonsense`,
      recordDocument('x'),
    );
    const kept = await author.sure<Entity>('GET', self);
    expect([put.status, late.status, malformed.status, kept.metadata['title']]).toEqual([
      200,
      412,
      400,
      'Written',
    ]);
    expect(late.headers.get('etag')).toBe(`"${kept.revision_id}"`);

    const tooEarly = await change('POST', link(kept, 'publish'), `"${kept.revision_id + 1}", "77"`);
    const { status, body: published } = await change('POST', link(kept, 'publish'), tags(kept.revision_id));
    const edits = [`"77", "78"`, tags(published.revision_id)];
    const versions = [`"77", "78"`, tags(published.revision_id)];
    const statuses = [];
    for (const ifMatch of edits)
      statuses.push((await change('POST', `/records/${draft.id}/draft`, ifMatch)).status);
    for (const ifMatch of versions)
      statuses.push((await change('POST', link(published, 'versions'), ifMatch)).status);
    expect([tooEarly.status, status, statuses]).toEqual([412, 202, [412, 201, 412, 201]]);
  });
});

describe('If-None-Match of a change', () => {
  test('keeps a draft as it is where it is at a revision that is named', async () => {
    const draft = await createRecord('Kept');
    const self = link(draft, 'self');
    const tag = await tagOf(author, self);
    const change = (method: string, ifNoneMatch: string) =>
      author.call(method, self, {
        ...(method === 'PUT' && { json: recordDocument('Overwritten') }),
        headers: { 'if-none-match': ifNoneMatch },
      });
    const refused = [await change('PUT', '*'), await change('PUT', tag), await change('DELETE', '*')];
    const kept = await author.sure<Entity>('GET', self);
    expect([refused.map(({ status }) => status), kept.metadata['title']]).toEqual([[412, 412, 412], 'Kept']);
    expect(refused[0]?.headers.get('etag')).toBe(tag);
    const others = [await change('PUT', '"77"'), await change('DELETE', '"77"'), await change('PUT', '*')];
    expect(others.map(({ status }) => status)).toEqual([200, 204, 404]);
  });
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { servicePrincipal } from '@kr/caller';
import { type LinkEvent, mirrorAccessLinks, restoreLinks } from './events/access-links.ts';
import {
  callOf,
  GOOD_BODY,
  GOOD_METADATA,
  type LifecycleFixture,
  lifecycleFixture,
  OWNER,
  STRANGER,
} from './lifecycle-fixture.ts';
import { clearDeletedPreviews } from './operations/previews.ts';

let life: LifecycleFixture;
beforeAll(async () => {
  life = await lifecycleFixture();
});
afterAll(() => life.close());

const SEARCH = callOf(servicePrincipal('search'));

function link(verb: 'created' | 'revoked', id: string, parentId: string, revision: number): LinkEvent {
  return {
    id: `${id} ${revision}`,
    subject: `knowledge.access-links.link.${verb}`,
    payload: { id, parentId, revision: String(revision), permission: 'view' },
    aggregateId: id,
    revision,
    time: new Date(),
    traceHeaders: {},
  };
}

describe('access links', () => {
  test('are shown in their order, independent of the order and number of their events', async () => {
    const { id, parentId } = await life.create();
    const follow = mirrorAccessLinks(life.context);
    const links = async () => {
      const entity = await life.read(id, 'draft');
      return typeof entity === 'string' ? entity : [entity.revision, entity.json['parent']];
    };
    const shown = (...ids: string[]) =>
      expect.objectContaining({
        access: { owned_by: [{ user: 'owner' }], links: ids.map((one) => ({ id: one })) },
      });
    await follow([link('created', 'a', parentId, 1), link('created', 'b', parentId, 1)]);
    expect(await links()).toEqual([1, shown('a', 'b')]);
    await follow([link('created', 'a', parentId, 1), link('created', 'x', 'somebody else', 1)]);
    expect(await links()).toEqual([1, shown('a', 'b')]);
    await follow([link('revoked', 'a', parentId, 2), link('created', 'a', parentId, 1)]);
    expect(await links()).toEqual([1, shown('b')]);
    await follow([link('revoked', 'c', parentId, 2)]);
    await follow([link('created', 'c', parentId, 1)]);
    expect(await links()).toEqual([1, shown('b')]);
  });

  test('reach every form of every version, with one event for each entity', async () => {
    const { id, parentId } = await life.create();
    await life.publish(id);
    await life.handlers.EditPublished({ id, ifRevision: '0' }, callOf(OWNER));
    const { document } = await life.handlers.CreateVersion({ id, ifRevision: '0' }, callOf(OWNER));
    const before = (await life.events()).length;
    await mirrorAccessLinks(life.context)([link('created', 'd', parentId, 1)]);
    const news = (await life.events()).slice(before);
    expect(news.map(({ subject, aggregate_id }) => [subject, aggregate_id]).sort()).toEqual(
      [id, document?.id].map((one) => ['knowledge.records.record.changed', one]).sort(),
    );
  });
});

describe('lost events of access links', () => {
  const linksOf = async (id: string) => {
    const entity = await life.read(id, 'draft');
    if (typeof entity === 'string') throw new Error(entity);
    const { access } = entity.json['parent'] as { access: { links: { id: string }[] } };
    return access.links.map((one) => one.id);
  };

  test('are made up for: links that were made and that were revoked', async () => {
    const created = [];
    // More than one page.
    for (let n = 0; n < 105; n += 1) created.push(await life.create());
    const [some, none] = [created[3], created[104]] as [
      { id: string; parentId: string },
      { id: string; parentId: string },
    ];
    await mirrorAccessLinks(life.context)([
      link('created', 'kept', some.parentId, 1),
      link('created', 'revoked', some.parentId, 1),
      link('created', 'last', none.parentId, 1),
    ]);
    const held = [
      { id: 'kept', parentId: some.parentId, revision: '2' },
      { id: 'made', parentId: some.parentId, revision: '1' },
    ];
    const asked: number[] = [];
    const restore = () =>
      restoreLinks(life.context, async (parentIds) => {
        asked.push(parentIds.length);
        // The event of a link that is made meanwhile is in time.
        if (parentIds.includes(some.parentId))
          await mirrorAccessLinks(life.context)([link('created', 'meanwhile', some.parentId, 1)]);
        return held.filter(({ parentId }) => parentIds.includes(parentId));
      });
    await restore();
    expect([await linksOf(some.id), await linksOf(none.id)]).toEqual([['kept', 'meanwhile', 'made'], []]);
    expect([asked.length > 1, Math.max(...asked)]).toEqual([true, 100]);
    // A late event of a revoked link.
    await mirrorAccessLinks(life.context)([link('created', 'revoked', some.parentId, 1)]);
    held.push({ id: 'meanwhile', parentId: some.parentId, revision: '1' });
    const before = (await life.events()).length;
    await restore();
    expect(await linksOf(some.id)).toEqual(['kept', 'meanwhile', 'made']);
    expect((await life.events()).length).toBe(before);
  });
});

describe('a deleted file', () => {
  const deleted = (entityId: string, key: string) => ({
    id: key,
    subject: 'knowledge.files.entry.deleted' as const,
    payload: { entityId, key, revision: '1' },
    aggregateId: entityId,
    revision: 1,
    time: new Date(),
    traceHeaders: {},
  });

  test('removes the preview; a new file gets a new preview', async () => {
    const body = (preview: string) => ({
      files: { enabled: true, default_preview: preview },
      metadata: GOOD_METADATA,
    });
    const [one, two] = [await life.create(body('a')), await life.create(body('b'))];
    await clearDeletedPreviews(life.context)([
      deleted(one.id, 'a'),
      deleted(two.id, 'a'),
      deleted('unknown', 'a'),
    ]);
    expect([await life.read(one.id, 'draft'), await life.read(two.id, 'draft')]).toMatchObject([
      { revision: 2, json: { files: { enabled: true, order: [] } } },
      { revision: 1, json: { files: { enabled: true, default_preview: 'b', order: [] } } },
    ]);
    const now = await life.read(one.id, 'draft');
    expect(now).not.toHaveProperty('json.files.default_preview');
  });

  test.each([
    ['complete', 0],
    ['pending', 1],
  ])('remains the preview if a file with its key exists again whose upload is %s', async (_name, pending) => {
    const { id } = await life.create({
      files: { enabled: true, default_preview: 'a' },
      metadata: GOOD_METADATA,
    });
    life.counts.set(id, { entries: 1, pending, totalBytes: 0, keys: ['a'] });
    await clearDeletedPreviews(life.context)([deleted(id, 'a')]);
    expect(await life.read(id, 'draft')).toMatchObject({
      revision: 1,
      json: { files: { default_preview: 'a' } },
    });
  });
});

test('a deleted preview disappears from the draft at once for its editor, and for no other reader', async () => {
  const { id } = await life.create({
    files: { enabled: true, default_preview: 'a' },
    metadata: GOOD_METADATA,
  });
  const forget = (principal = OWNER, keys = ['a']) =>
    life.handlers.ClearPreview({ id, keys }, callOf(principal)).then(
      () => 'forgotten',
      ({ kind }) => kind,
    );
  expect([await forget(STRANGER), await forget(OWNER, ['b'])]).toEqual(['forbidden', 'forgotten']);
  expect(await life.read(id, 'draft')).toMatchObject({
    revision: 1,
    json: { files: { default_preview: 'a' } },
  });
  expect([await forget(), await forget()]).toEqual(['forgotten', 'forgotten']);
  expect(await life.read(id, 'draft')).toMatchObject({ revision: 2, json: { files: { enabled: true } } });
});

describe('the index', () => {
  test('is given both forms as their owner sees them, and what it filters by', async () => {
    const { id, parentId } = await life.create({
      ...GOOD_BODY,
      access: { record: 'restricted', files: 'restricted' },
    });
    await life.publish(id);
    await life.handlers.EditPublished({ id, ifRevision: '0' }, callOf(OWNER));
    const { documents } = await life.handlers.FetchForIndex({ ids: [id, 'unknown'] }, SEARCH);
    const common = {
      id,
      parentId,
      ownerId: 'owner',
      recordAccess: 'restricted',
      versionIndex: 1,
      createdAt: { seconds: '1767225600', nanos: 0 },
      updatedAt: { seconds: '1767225600', nanos: 0 },
    };
    expect(documents?.map(({ json, ...rest }) => rest)).toEqual([
      { ...common, form: 'FORM_PUBLISHED', revision: '2' },
      { ...common, form: 'FORM_DRAFT', revision: '3' },
    ]);
    expect(JSON.parse(String(documents?.[0]?.json))).toMatchObject({
      id,
      parent: { access: { owned_by: [{ user: 'owner' }] } },
      versions: { is_latest_draft: true },
    });
    await expect(life.handlers.FetchForIndex({ ids: [id] }, callOf(OWNER))).rejects.toMatchObject({
      kind: 'forbidden',
    });
  });

  test('walks over all ids in pieces', async () => {
    const seen: string[] = [];
    for (let afterId = ''; ; ) {
      const { ids = [] } = await life.handlers.ListIds({ afterId, limit: 2 }, SEARCH);
      seen.push(...ids);
      const last = ids.at(-1);
      if (last === undefined) break;
      afterId = last;
    }
    const all = await life.prisma.version.findMany({ select: { id: true } });
    expect(seen).toEqual(all.map(({ id }) => id).sort());
  });
});

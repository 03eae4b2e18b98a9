import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readTrail } from '@kr/audit-trail';
import type { EventSubject } from '@kr/contracts';
import { until } from '@kr/testbed';
import { onPackageEvent } from '../consume/on-package-event.ts';
import { restoreRelations } from '../consume/restore-relations.ts';
import type { RecordsContext } from '../context.ts';
import {
  callOf,
  GOOD_BODY,
  OWNER,
  PACKAGES,
  type RecordsFixture,
  recordsFixture,
  STRANGER,
} from '../testing/records-fixture.ts';
import { associateRecords, dissociateRecords } from './association.ts';
import { describeRecords } from './describe-records.ts';
import { listManagedRecords } from './managed-records.ts';
import { setPackageResources } from './set-package-resources.ts';

let records: RecordsFixture;
beforeAll(async () => {
  records = await recordsFixture();
});
afterAll(() => records.close());

const associate = (packageParentId: string, ids: string[], principal = OWNER) =>
  associateRecords(records.context)({ packageParentId, ids, packageId: 'named' }, callOf(principal));
const dissociate = (packageParentId: string, ids: string[], principal = OWNER) =>
  dissociateRecords(records.context)({ packageParentId, ids, packageId: 'named' }, callOf(principal));
const managed = async (packageParentId: string) =>
  (await listManagedRecords(records.context)({ packageParentId })).ids ?? [];
const tell = (packageId: string, revision: number, ids: string[]) =>
  setPackageResources(records.context)(
    { packageId, revision: String(revision), ids, ...UNRESTRICTED },
    callOf(PACKAGES),
  );
const packagesOf = async (id: string) =>
  ((await records.json(id, 'FORM_DRAFT'))['relationship'] as { packages: unknown }).packages;
async function waitingForLocks(): Promise<number | undefined> {
  const [row] = await records.context.database.$queryRawUnsafe<{ n: number }[]>(
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return row?.n;
}
const UNRESTRICTED = {
  packageParentId: '',
  accessJson: Buffer.alloc(0),
  restrictionRevision: '0',
};
const management = async (id: string) =>
  ((await records.json(id, 'FORM_DRAFT'))['parent'] as { relationship: unknown }).relationship;

describe('association', () => {
  test('puts drafts under a package, once, and shows it', async () => {
    const [one, two] = [await records.create(), await records.create()];
    await associate('c1', [one, two]);
    const after = await records.entity(one);
    expect([await management(one), after.draft?.revision]).toEqual([{ managed_by: { id: 'c1' } }, 2]);
    await associate('c1', [one, two]);
    expect((await records.entity(one)).draft?.revision).toBe(2);
    expect(await managed('c1')).toEqual(expect.arrayContaining([one, two]));
    expect((await records.changedEvents()).sort()).toEqual([one, two].sort());

    await dissociate('c1', [one]);
    await dissociate('c1', [one]);
    expect([await management(one), await management(two)]).toEqual([{}, { managed_by: { id: 'c1' } }]);
    await dissociate('other', [two]);
    expect(await managed('c1')).toEqual([two]);
  });

  test('is listed with its published versions, including decided ones, and its drafts', async () => {
    const { context } = records;
    const listed = (from: RecordsContext) => listManagedRecords(from)({ packageParentId: 'c-listed' });
    const [one, two] = [await records.create(), await records.create()];
    await associate('c-listed', [one]);
    await associate('c-listed', [two]);
    await records.publish([one]);
    expect(await listed(context)).toMatchObject({ ids: [one, two], publishedIds: [one] });

    const commit = await records.prepare([two]);
    expect(await listed(context)).toMatchObject({ publishedIds: [one] });
    const resolve = async () => {
      await commit();
      return { isChanged: true, unknown: new Map() };
    };
    expect(await listed({ ...context, publications: { resolve } })).toMatchObject({
      ids: [one, two],
      publishedIds: [one, two],
    });
    expect(await listManagedRecords(context)({ packageParentId: 'nobody' })).toMatchObject({
      ids: [],
    });
  });

  test('is refused as a whole, naming each that cannot be', async () => {
    const [good, taken, published, foreign] = [
      await records.create(),
      await records.create(),
      await records.create(),
      await records.create(STRANGER),
    ];
    await associate('c2', [taken]);
    await records.publish([published]);
    const ids = [good, taken, published];
    await expect(associate('c3', ids)).rejects.toMatchObject({
      kind: 'invalid',
      message: 'A validation error occurred.',
      issues: [
        { field: 'records.1.id', messages: ['Record already associated with a package.'], record: taken },
        {
          field: 'records.2.id',
          messages: ['Only drafts can be associated with a package.'],
          record: published,
        },
      ],
    });
    await expect(associate('c3', [good, foreign])).rejects.toMatchObject({
      kind: 'forbidden',
      issues: [{ field: 'records.1.id', messages: ['Permission denied.'], record: foreign }],
    });
    await expect(associate('c3', [good, 'zzzzz-zzzzz'])).rejects.toMatchObject({
      kind: 'not_found',
      message: 'The persistent identifier does not exist.',
    });
    expect(await managed('c3')).toEqual([]);
  });

  test('ends for all versions of a resource, and reports versions that cannot be released', async () => {
    const [id, loose, foreign] = [
      await records.create(),
      await records.create(),
      await records.create(STRANGER),
    ];
    await associate('c11', [id]);
    await records.publish([id], 'package', 'c11');
    const { document } = await records.handlers.CreateVersion({ id, ifRevision: '0' }, callOf(OWNER));
    const next = document?.id ?? '';
    await expect(dissociate('c11', [id, foreign])).rejects.toMatchObject({ kind: 'forbidden' });
    expect(await managed('c11')).toEqual([id, next]);
    const { leavingIds } = await dissociate('c11', [id, loose]);
    const again = await dissociate('c11', [id, loose]);
    expect([leavingIds, again]).toEqual([expect.arrayContaining([id, next, loose]), { leavingIds: [loose] }]);
  });

  test('by two packages at once goes to one of them', async () => {
    const ids = [await records.create(), await records.create(), await records.create()];
    const attempts = await Promise.allSettled([associate('c4', ids), associate('c5', [...ids].reverse())]);
    expect(attempts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect([(await managed('c4')).length, (await managed('c5')).length].sort()).toEqual([0, 3]);
  });

  test('opens the resource to holders of a link of the package', async () => {
    const id = await records.create();
    await associate('c6', [id]);
    const holder = {
      ...STRANGER,
      userId: null,
      grants: [{ linkId: 'l', parentId: 'c6', permission: 'preview' as const }],
    };
    expect(await records.json(id, 'FORM_DRAFT', holder)).toMatchObject({ id });
  });

  test('stays as it is while a version of the resource is being published, whichever version is named', async () => {
    const id = await records.create();
    await associate('c10', [id]);
    await records.publish([id], 'package', 'c10');
    const { document } = await records.handlers.CreateVersion({ id, ifRevision: '0' }, callOf(OWNER));
    const next = document?.id ?? '';
    await records.update(next);
    const finish = await records.prepare([next], 'package', 'c10');
    const locked = { kind: 'conflict', code: 'draft_locked' };
    await expect(dissociate('c10', [id])).rejects.toMatchObject(locked);
    await expect(dissociate('c10', [next])).rejects.toMatchObject(locked);
    expect(await managed('c10')).toEqual([id, next]);
    await finish();
    await dissociate('c10', [id]);
    expect(await managed('c10')).toEqual([]);
  });

  test('outlives publication and reaches the next version', async () => {
    const id = await records.create();
    await associate('c7', [id]);
    await records.publish([id], 'package', 'c7');
    const { document } = await records.handlers.CreateVersion({ id, ifRevision: '0' }, callOf(OWNER));
    expect(await managed('c7')).toEqual([id, document?.id]);
    expect(await management(document?.id ?? '')).toEqual({ managed_by: { id: 'c7' } });
  });
});

describe('description', () => {
  test('returns the facts that a package needs about its resources, for the caller', async () => {
    const [draft, published] = [await records.create(), await records.create()];
    await associate('c8', [draft]);
    await records.publish([published]);
    const describeFor = async (principal = OWNER) =>
      (await describeRecords(records.context)({ ids: [draft, published, 'unknown'] }, callOf(principal)))
        .records;
    const mine = await describeFor();
    expect(mine).toHaveLength(2);
    expect(mine).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          id: draft,
          hasDraft: true,
          isPublished: false,
          managedBy: 'c8',
          isReadable: true,
        }),
        expect.objectContaining({
          id: published,
          hasDraft: false,
          isPublished: true,
          managedBy: '',
          isReadable: true,
        }),
      ]),
    );
    const theirs = await describeFor(STRANGER);
    expect(theirs?.map(({ id, isReadable }) => [id, isReadable]).sort()).toEqual(
      [
        [draft, false],
        [published, true],
      ].sort(),
    );
  });
});

describe('the mirror of package versions', () => {
  test('takes news in any order, and only newer ones', async () => {
    const [one, two] = [await records.create(), await records.create()];
    await tell('p1', 3, [one, two]);
    await tell('p1', 2, []);
    await tell('p1', 3, []);
    expect([await packagesOf(one), await packagesOf(two)]).toEqual([[{ id: 'p1' }], [{ id: 'p1' }]]);
    await tell('p2', 1, [one]);
    await tell('p1', 4, [two]);
    expect([await packagesOf(one), await packagesOf(two)]).toEqual([[{ id: 'p2' }], [{ id: 'p1' }]]);
    await expect(
      setPackageResources(records.context)(
        { packageId: 'p1', revision: '9', ids: [], ...UNRESTRICTED },
        callOf(OWNER),
      ),
    ).rejects.toMatchObject({ kind: 'forbidden' });
  });

  test('closes managed drafts with their package, once for each change of it, and nothing else', async () => {
    const [managedDraft, looseDraft, published] = [
      await records.create(),
      await records.create(),
      await records.create(),
    ];
    await associate('c9', [managedDraft, published]);
    await records.publish([published]);
    const ids = [managedDraft, looseDraft, published];
    const access = { record: 'restricted', files: 'restricted', embargo: { active: false, reason: null } };
    const restrict = (revision: number) =>
      setPackageResources(records.context)(
        {
          packageId: 'p9',
          revision: String(revision),
          ids,
          packageParentId: 'c9',
          accessJson: Buffer.from(JSON.stringify(access)),
          restrictionRevision: String(revision),
        },
        callOf({ ...PACKAGES, requestId: `change ${revision}` }),
      );
    const before = await records.entity(managedDraft);
    await restrict(1);
    await restrict(1);
    const after = await Promise.all(ids.map((id) => records.entity(id)));
    expect(after.map(({ draft, published: shown }) => (draft ?? shown)?.document.access.record)).toEqual([
      'restricted',
      'public',
      'public',
    ]);
    expect(after[0]?.draft?.revision).toBe((before.draft?.revision ?? 0) + 1);
    const { entries } = await readTrail(records.context.database, before.parent.id, 1);
    expect(entries).toMatchObject([
      {
        action: 'draft.restrict',
        entityId: managedDraft,
        actor: { service: 'packages', requestId: 'change 1' },
      },
    ]);
  });

  describe('of a restricted package', () => {
    const access = { record: 'restricted', files: 'restricted', embargo: { active: false, reason: null } };
    const accessJson = Buffer.from(JSON.stringify(access));
    const update = (id: string, revision: number, ids: string[], restrictionRevision: number) =>
      setPackageResources(records.context)(
        {
          packageId: id,
          revision: String(revision),
          ids,
          packageParentId: `parent of ${id}`,
          accessJson,
          restrictionRevision: String(restrictionRevision),
        },
        callOf(PACKAGES),
      );
    const accessOf = async (id: string) => (await records.entity(id)).draft?.document.access.record;
    const managedDrafts = async (id: string) => {
      const ids = [await records.create(), await records.create()] as const;
      await associate(`parent of ${id}`, [...ids]);
      return ids;
    };

    test('closes the drafts of an older restriction also when a newer list of resources was applied first', async () => {
      const [early, added] = await managedDrafts('p7');
      await tell('p7', 6, [early, added]);
      await follow('knowledge.packages.resources.changed', {
        id: 'p7',
        parentId: 'parent of p7',
        revision: '5',
        recordIds: [early],
        accessJson,
        restrictionRevision: '5',
      });
      expect([await accessOf(early), await accessOf(added)]).toEqual(['restricted', 'public']);
      expect([await packagesOf(early), await packagesOf(added)]).toEqual(Array(2).fill([{ id: 'p7' }]));
      await update('p7', 7, [early, added], 7);
      expect([await accessOf(early), await accessOf(added)]).toEqual(['restricted', 'restricted']);
    });

    test('closes nothing again with the late event of a restriction that a newer list brought', async () => {
      const [early, added] = await managedDrafts('p11');
      await update('p11', 6, [early, added], 5);
      const { revision } = (await records.entity(early)).draft ?? {};
      await update('p11', 5, [early], 5);
      expect([await accessOf(early), await accessOf(added)]).toEqual(['restricted', 'restricted']);
      expect((await records.entity(early)).draft?.revision).toBe(revision);
    });

    /** Runs work while these records and their parents are locked. */
    const whileLocked = (ids: readonly string[], work: () => Promise<unknown>) =>
      records.context.database.$transaction(async (tx) => {
        await tx.$queryRawUnsafe(
          'select p.id from parent p join version v on v.parent_id = p.id where v.id = any($1::text[]) for update',
          ids,
        );
        await work();
      });

    test('locks only the drafts that it closes', async () => {
      const [early, added] = await managedDrafts('p12');
      const published = await records.create();
      await records.publish([published]);
      await update('p12', 2, [early, published], 2);
      await whileLocked([early, published], async () => {
        await update('p12', 2, [early, published], 2);
        await update('p12', 3, [early, published, added], 2);
        await update('p12', 4, [early, added], 2);
      });
      expect(await accessOf(added)).toBe('restricted');
      await whileLocked([published], () => update('p12', 5, [early, added, published], 5));
    });

    test.each(['older', 'newer'])(
      'closes all drafts if two updates run at once, the %s first',
      async (first) => {
        const id = `p13 ${first}`;
        const [early, added] = await managedDrafts(id);
        const older = () => update(id, 3, [early], 3);
        const newer = () => update(id, 4, [early, added], 4);
        const running: Promise<unknown>[] = [];
        await whileLocked([early, added], async () => {
          for (const start of first === 'older' ? [older, newer] : [newer, older]) {
            running.push(start());
            await until(async () => (await waitingForLocks()) === running.length);
          }
        });
        await Promise.all(running);
        expect([await accessOf(early), await accessOf(added)]).toEqual(['restricted', 'restricted']);
        expect([await packagesOf(early), await packagesOf(added)]).toEqual([[{ id }], [{ id }]]);
        const { parent } = await records.entity(early);
        const { entries = [] } = await readTrail(records.context.database, parent.id, 10);
        // The newer one also covers the older one.
        const restrictions = entries.filter(({ action }) => action === 'draft.restrict');
        expect(restrictions).toHaveLength(1);
      },
    );

    test('closes what the lost call should have closed, with the next one', async () => {
      const [early, added] = await managedDrafts('p8');
      await tell('p8', 4, [early]);
      await update('p8', 6, [early, added], 5);
      expect([await accessOf(early), await accessOf(added)]).toEqual(['restricted', 'restricted']);
      const { revision } = (await records.entity(early)).draft ?? {};
      await update('p8', 6, [early, added], 5);
      expect((await records.entity(early)).draft?.revision).toBe(revision);
    });

    test('leaves drafts open that were opened again, until it is restricted again', async () => {
      const [opened, added] = await managedDrafts('p10');
      await update('p10', 2, [opened], 2);
      const body = Buffer.from(
        JSON.stringify({ ...GOOD_BODY, access: { record: 'public', files: 'public' } }),
      );
      await records.handlers.UpdateDraft({ id: opened, body, ifRevision: '0' }, callOf(OWNER));
      await update('p10', 3, [opened, added], 2);
      expect([await accessOf(opened), await accessOf(added)]).toEqual(['public', 'restricted']);
      await update('p10', 4, [opened, added], 4);
      expect(await accessOf(opened)).toBe('restricted');
    });
  });

  test('changes nothing of a published resource until the package is published, and then only the relation', async () => {
    const id = await records.create();
    await records.publish([id]);
    const before = await records.json(id, 'FORM_PUBLISHED');
    await tell('p3', 1, [id]);
    expect(await records.json(id, 'FORM_PUBLISHED')).toEqual(before);
    await follow('knowledge.packages.package.published', { id: 'p3', parentId: 'c', revision: 2 });
    await follow('knowledge.packages.package.published', { id: 'p3', parentId: 'c', revision: 2 });
    expect(await records.json(id, 'FORM_PUBLISHED')).toEqual({
      ...before,
      relationship: { packages: [{ id: 'p3' }] },
    });
  });

  test('releases everything when a package is deleted, and one version when another remains', async () => {
    const id = await records.create();
    await associate('c9', [id]);
    await tell('p4', 1, [id]);
    records.packageIds.add('c9');
    const gone = { id: 'p4', parentId: 'c9', revision: 2, isPublished: false };
    await follow('knowledge.packages.draft.deleted', gone);
    expect([await management(id), (await records.json(id, 'FORM_DRAFT'))['relationship']]).toEqual([
      { managed_by: { id: 'c9' } },
      { packages: [] },
    ]);
    records.packageIds.delete('c9');
    await follow('knowledge.packages.draft.deleted', gone);
    expect(await management(id)).toEqual({});

    const version = await records.entity(id);
    const log = async (parentId: string) => (await readTrail(records.context.database, parentId, 1)).entries;
    const byEvent = { service: 'records', userId: '', requestId: 'e' };
    expect([await log('c9'), await log(version.parent.id)]).toMatchObject([
      [{ action: 'context.dissociate', entityId: 'p4', actor: byEvent }],
      [{ action: 'record.dissociate', entityId: id, actor: byEvent }],
    ]);
  });

  test('is included in the event of a discarded resource draft', async () => {
    const id = await records.create();
    await tell('p5', 1, [id]);
    await records.handlers.DeleteDraft({ id, ifRevision: '0' }, callOf(OWNER));
    const held = await records.context.database.$queryRawUnsafe<unknown[]>(
      'select 1 from packaged_record where record_id = $1',
      id,
    );
    expect(held).toEqual([]);
  });
});

describe('lost events of packages', () => {
  const restricted = { record: 'restricted', files: 'restricted', embargo: { active: false, reason: null } };
  const version = (packageId: string, given: object) => ({
    packageId,
    packageParentId: `parent of ${packageId}`,
    revision: '0',
    isPublished: false,
    ids: [],
    accessJson: Buffer.alloc(0),
    restrictionRevision: '0',
    ...given,
  });
  const relation = async (id: string, form: 'FORM_DRAFT' | 'FORM_PUBLISHED' = 'FORM_DRAFT') =>
    ((await records.json(id, form))['relationship'] as { packages: { id: string }[] }).packages.map(
      (one) => one.id,
    );

  test('are made up for: lists, publications, restrictions, and packages that are gone', async () => {
    const [removed, added, published, known] = [
      await records.create(),
      await records.create(),
      await records.create(),
      await records.create(),
    ];
    await records.publish([published]);
    await tell('l1', 3, [removed]);
    await tell('l-known', 5, [known]);
    await tell('l-gone', 7, [removed, known]);
    await associate('parent of l1', [added]);
    await associate('parent of l-gone', [removed]);
    for (const id of ['parent of l1', 'l1', 'l-known', 'l-published']) records.packageIds.add(id);
    records.versions.push(
      version('l1', {
        revision: '6',
        ids: [added],
        accessJson: Buffer.from(JSON.stringify(restricted)),
        restrictionRevision: '5',
      }),
      version('l-published', { isPublished: true, ids: [published] }),
      // Read by the packages service before the newest change.
      version('l-known', { revision: '4' }),
    );
    await restoreRelations(records.context);
    const restored = async () => ({
      relations: [
        await relation(removed),
        await relation(added),
        await relation(published, 'FORM_PUBLISHED'),
        await relation(known),
      ],
      managed: [await management(removed), await management(added)],
      access: (await records.entity(added)).draft?.document.access.record,
    });
    const expected = {
      relations: [[], ['l1'], ['l-published'], ['l-known']],
      managed: [{}, { managed_by: { id: 'parent of l1' } }],
      access: 'restricted',
    };
    expect(await restored()).toEqual(expected);

    const changes = (await records.changedEvents()).length;
    await restoreRelations(records.context);
    expect([await restored(), (await records.changedEvents()).length]).toEqual([expected, changes]);
    // Late events, followed by current ones.
    await tell('l1', 5, [removed]);
    await tell('l-gone', 8, [removed]);
    expect(await restored()).toEqual(expected);
    await tell('l1', 7, [added, removed]);
    expect([await relation(added), await relation(removed)]).toEqual([['l1'], ['l1']]);
  });
});

async function follow(subject: EventSubject, payload: Record<string, unknown>): Promise<void> {
  const event = {
    id: 'e',
    subject,
    payload,
    aggregateId: String(payload['id']),
    revision: Number(payload['revision']),
    time: new Date(),
    traceHeaders: {},
  };
  await onPackageEvent(records.context)([
    event as unknown as Parameters<ReturnType<typeof onPackageEvent>>[0][0],
  ]);
}

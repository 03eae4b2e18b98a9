import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Principal, verifyTicket } from '@kr/caller';
import {
  ANONYMOUS,
  callOf,
  GOOD_BODY,
  type LifecycleFixture,
  lifecycleFixture,
  OWNER,
  STRANGER,
} from './lifecycle-fixture.ts';

let life: LifecycleFixture;
let draft: string;
let published: string;
beforeAll(async () => {
  life = await lifecycleFixture();
  draft = (await life.create()).id;
  published = (await life.create({ ...GOOD_BODY, access: { record: 'public', files: 'restricted' } })).id;
  await life.publish(published);
});
afterAll(() => life.close());

type FormName = 'FORM_DRAFT' | 'FORM_PUBLISHED' | 'FORM_UNSPECIFIED';
const authorise = (id: string, form: FormName, action: string, principal: Principal = OWNER) =>
  life.handlers.Authorise({ id, form, action }, callOf(principal));

async function outcome(...args: Parameters<typeof authorise>): Promise<string> {
  try {
    await authorise(...args);
    return 'yes';
  } catch (thrown) {
    const { kind, message } = thrown as { kind: string; message: string };
    return `${kind}: ${message}`;
  }
}

describe('a ticket', () => {
  test('names holder, action, entity and expiry', async () => {
    const { ticket, ...rest } = await authorise(draft, 'FORM_DRAFT', 'write_files');
    const [now, parent] = [
      life.world.now,
      await life.prisma.version.findUniqueOrThrow({ where: { id: draft } }),
    ];
    const check = {
      audience: 'files',
      key: 'f'.repeat(32),
      actions: ['write_files'],
      now: () => now,
    } as const;
    expect(verifyTicket(ticket ?? '', check)).toEqual({
      audience: 'files',
      entityId: draft,
      parentId: parent.parentId,
      managedBy: null,
      form: 'draft',
      actions: ['write_files'],
      sourceEntityId: null,
      ownerId: 'owner',
      userId: 'owner',
      expiresAt: now.getTime() + 60_000,
    });
    expect(rest).toEqual({ parentId: parent.parentId, filesEnabled: false, defaultPreview: '', order: [] });
  });

  test('to read carries one action for either form', async () => {
    const tickets = await Promise.all([
      authorise(draft, 'FORM_DRAFT', 'read_files'),
      authorise(draft, 'FORM_DRAFT', 'read_draft_files'),
      authorise(published, 'FORM_PUBLISHED', 'read_files'),
    ]);
    for (const { ticket } of tickets) {
      const check = {
        audience: 'files',
        key: 'f'.repeat(32),
        actions: ['read_files'],
        now: () => life.world.now,
      } as const;
      expect(verifyTicket(ticket ?? '', check).actions).toContain('read_files');
    }
  });

  test('for links needs any form that is there', async () => {
    expect([
      await outcome(draft, 'FORM_PUBLISHED', 'manage_links'),
      await outcome(published, 'FORM_DRAFT', 'manage_links'),
      await outcome(published, 'FORM_UNSPECIFIED', 'manage_links', STRANGER),
      await outcome(published, 'FORM_UNSPECIFIED', 'manage_links', ANONYMOUS),
    ]).toEqual(['yes', 'yes', 'forbidden: Permission denied.', 'unauthenticated: Authentication required.']);
  });

  test.each<[string, () => Parameters<typeof authorise>, string]>([
    ['files of an unpublished draft', () => [draft, 'FORM_PUBLISHED', 'read_files'], 'not_found: Not found.'],
    ['draft files without a draft', () => [published, 'FORM_DRAFT', 'read_files'], 'not_found: Not found.'],
    [
      'restricted files',
      () => [published, 'FORM_PUBLISHED', 'read_files', STRANGER],
      'forbidden: Permission denied.',
    ],
    ['import into a first version', () => [draft, 'FORM_DRAFT', 'import_files'], 'not_found: Not found.'],
    [
      'what is no action',
      () => [draft, 'FORM_DRAFT', 'constructor'],
      "invalid: There is no action 'constructor'.",
    ],
    [
      'an unknown entity',
      () => ['zzzzz-zzzzz', 'FORM_DRAFT', 'read_files'],
      'not_found: The persistent identifier does not exist.',
    ],
  ])('is not given for %s', async (_name, args, expected) => {
    expect(await outcome(...args())).toBe(expected);
  });

  test('to import names the version before', async () => {
    const { document } = await life.handlers.CreateVersion({ id: published, ifRevision: '0' }, callOf(OWNER));
    const { ticket } = await authorise(document?.id ?? '', 'FORM_DRAFT', 'import_files');
    const check = {
      audience: 'files',
      key: 'f'.repeat(32),
      actions: ['import_files'],
      now: () => life.world.now,
    } as const;
    expect(verifyTicket(ticket ?? '', check).sourceEntityId).toBe(published);
  });

  test('is empty for local actions', async () => {
    expect(await authorise(draft, 'FORM_DRAFT', 'publish')).toMatchObject({ ticket: '' });
  });
});

import { describe, expect, test } from '@jest/globals';
import { type LinkGrant, type Principal, SCOPES, type Scope } from '@kr/caller';
import { ServiceError } from '@kr/service-error';
import { type AccessSubject, allows, authorise } from './authorise.ts';
import { type Action, isAction, POLICY, SCOPE_OF } from './policy.ts';

const nobody: Principal = {
  userId: null,
  isAdmin: false,
  scopes: SCOPES,
  grants: [],
  service: null,
  requestId: 'q',
};
const link = (permission: LinkGrant['permission'], parentId = 'parent'): LinkGrant => ({
  linkId: 'l',
  parentId,
  permission,
});

const CALLERS = {
  anonymous: nobody,
  stranger: { ...nobody, userId: 'stranger' },
  'view link': { ...nobody, grants: [link('view')] },
  'preview link': { ...nobody, grants: [link('preview')] },
  'edit link': { ...nobody, grants: [link('edit')] },
  'edit link elsewhere': { ...nobody, grants: [link('edit', 'other')] },
  'stranger with view link': { ...nobody, userId: 'stranger', grants: [link('edit', 'other'), link('view')] },
  owner: { ...nobody, userId: 'owner' },
  'second owner': { ...nobody, userId: 'second' },
  admin: { ...nobody, userId: 'root', isAdmin: true },
  service: { ...nobody, service: 'search' },
  'admin without a user': { ...nobody, isAdmin: true },
} satisfies Record<string, Principal>;

type Caller = keyof typeof CALLERS;
const COLUMNS = Object.keys(CALLERS) as Caller[];

const subject = (
  recordAccess: AccessSubject['recordAccess'],
  filesAccess: AccessSubject['filesAccess'],
): AccessSubject => ({
  parentId: 'parent',
  ownerIds: ['owner', 'second'],
  recordAccess,
  filesAccess,
});

const SUBJECTS = {
  open: subject('public', 'public'),
  'restricted files': subject('public', 'restricted'),
  restricted: subject('restricted', 'restricted'),
  'restricted with public files': subject('restricted', 'public'),
} satisfies Record<string, AccessSubject>;

type Subject = keyof typeof SUBJECTS;

// One letter for each caller, in the order of CALLERS: y may, n is forbidden, u is unauthenticated.
const ALL = 'yyyyyyyyyyyy';
const VIEW = 'nnyyynyyyyyn';
const PREVIEW = 'unnyynnyyyyu';
const CURATE = 'unnnynnyyyyu';
const MANAGE = 'unnnnnnyyyyu';
const USERS = 'uynnnnyyyyyu';
const ADMIN = 'unnnnnnnnyyu';

const always = (cells: string): Record<Subject, string> => ({
  open: cells,
  'restricted files': cells,
  restricted: cells,
  'restricted with public files': cells,
});

const EXPECTED: Record<Action, Record<Subject, string>> = {
  search: always(ALL),
  create: always(USERS),
  list_own: always(USERS),
  manage_tokens: always(USERS),
  read: { open: ALL, 'restricted files': ALL, restricted: VIEW, 'restricted with public files': VIEW },
  read_files: { open: ALL, 'restricted files': VIEW, restricted: VIEW, 'restricted with public files': VIEW },
  read_draft: always(PREVIEW),
  read_draft_files: always(PREVIEW),
  update_draft: always(CURATE),
  delete_draft: always(CURATE),
  write_files: always(CURATE),
  import_files: always(CURATE),
  manage_pids: always(CURATE),
  publish: always(CURATE),
  edit: always(CURATE),
  new_version: always(CURATE),
  manage_resources: always(CURATE),
  manage_context: always(CURATE),
  associate: always(MANAGE),
  manage_links: always(MANAGE),
  list_removals: always(ALL),
  remove: always(ADMIN),
  see_parent_access: always(MANAGE),
  see_draft_state: always(CURATE),
  read_audit_log: always(MANAGE),
};

const LETTERS: Record<string, string> = { forbidden: 'n', unauthenticated: 'u' };

function decide(principal: Principal, action: Action, on: AccessSubject): string {
  try {
    authorise(principal, action, on);
    return 'y';
  } catch (thrown) {
    if (!(thrown instanceof ServiceError)) throw thrown;
    return LETTERS[thrown.kind] ?? thrown.kind;
  }
}

describe('access policy', () => {
  test.each(Object.keys(POLICY) as Action[])('%s is open to exactly the callers of the table', (action) => {
    const decided = Object.entries(SUBJECTS).map(([name, on]) => [
      name,
      Object.fromEntries(COLUMNS.map((caller) => [caller, decide(CALLERS[caller], action, on)])),
    ]);
    const expected = Object.entries(EXPECTED[action]).map(([name, cells]) => [
      name,
      Object.fromEntries(COLUMNS.map((caller, column) => [caller, cells[column]])),
    ]);
    expect(Object.fromEntries(decided)).toEqual(Object.fromEntries(expected));
  });

  test('allows exactly the actions that authorise permits', () => {
    for (const action of Object.keys(POLICY) as Action[]) {
      for (const on of Object.values(SUBJECTS)) {
        for (const principal of Object.values(CALLERS)) {
          expect(allows(principal, action, on)).toBe(decide(principal, action, on) === 'y');
        }
      }
    }
  });

  test.each(Object.keys(POLICY) as Action[])('%s takes its scope and no other', (action) => {
    const scope = SCOPE_OF[action];
    const on = SUBJECTS.restricted;
    const allowed = (['owner', 'admin'] as const).filter((caller) => allows(CALLERS[caller], action, on));
    expect(allowed).toContain('admin');
    for (const caller of allowed) {
      const withScopes = (scopes: readonly Scope[]) => decide({ ...CALLERS[caller], scopes }, action, on);
      expect(withScopes(scope === null ? [] : [scope])).toBe('y');
      expect(withScopes(SCOPES.filter((other) => other !== scope))).toBe(scope === null ? 'y' : 'n');
    }
  });

  test('names the missing scope only if another token of the user would be allowed', () => {
    const bare = (caller: Caller) => ({ ...CALLERS[caller], scopes: [] });
    expect(() => authorise(bare('owner'), 'publish', SUBJECTS.open)).toThrow(
      expect.objectContaining({
        code: 'insufficient_scope',
        message: 'The access token lacks the scope publish.',
      }),
    );
    expect(() => authorise(bare('stranger'), 'publish', SUBJECTS.open)).toThrow('Permission denied.');
  });

  test('links grant their permissions, regardless of the scopes of a token in the same request', () => {
    const holder = { ...CALLERS['edit link'], userId: 'stranger', scopes: [] };
    expect(decide(holder, 'publish', SUBJECTS.restricted)).toBe('y');
  });

  test('lets operators and the system itself do everything', () => {
    for (const roles of Object.values(POLICY))
      expect(roles).toEqual(expect.arrayContaining(['admin', 'service']));
  });

  test.each<[string | null | undefined, string]>([
    ['other', 'yn'],
    ['third', 'nn'],
    [null, 'nn'],
  ])('opens a resource managed by %j with a link of the package %s', (managedBy, cells) => {
    const resource = { ...SUBJECTS.restricted, managedBy: managedBy ?? null };
    const holder = CALLERS['edit link elsewhere'];
    expect(decide(holder, 'update_draft', resource) + decide(holder, 'manage_links', resource)).toBe(cells);
  });

  test('uses the same short sentences for every refusal', () => {
    expect(() => authorise(CALLERS.anonymous, 'publish', SUBJECTS.open)).toThrow('Authentication required.');
    expect(() => authorise(CALLERS.anonymous, 'read', SUBJECTS.restricted)).toThrow('Permission denied.');
    expect(() => authorise(CALLERS.stranger, 'publish', SUBJECTS.open)).toThrow('Permission denied.');
  });

  test('decides general actions without an entity, and refuses the others without one', () => {
    expect(allows(CALLERS.stranger, 'create', null)).toBe(true);
    expect(allows(CALLERS['edit link'], 'create', null)).toBe(false);
    // @ts-expect-error an action on an entity requires the entity
    expect(allows(CALLERS.owner, 'update_draft', null)).toBe(false);
  });

  test('a caller without a user has no rights on an entity without owners', () => {
    expect(allows(CALLERS.anonymous, 'read_draft', { ...SUBJECTS.open, ownerIds: [] })).toBe(false);
  });

  test.each([
    ['manage_links', true],
    ['constructor', false],
    ['', false],
    ['READ', false],
  ])('knows whether %j names an action', (word, known) => {
    expect(isAction(word)).toBe(known);
  });
});

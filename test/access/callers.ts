import type { Scope } from '@kr/caller';

export type Permission = 'view' | 'preview' | 'edit';
export type UserName = 'owner' | 'stranger' | 'author' | 'admin';
export type TokenName = UserName | 'reading owner' | 'writing owner' | 'reading stranger' | 'plain admin';

/** The links that a caller may present; those of the entity itself are created with it. */
export type LinkName = Permission | 'expired' | 'revoked' | 'foreign';

/** Somebody who calls: what the credentials are, and what they are worth. */
export interface Caller {
  /** The name of a personal access token. */
  token?: TokenName;
  /** The name of a link's token. */
  link?: LinkName;
  user?: UserName;
  isAdmin?: boolean;
  scopes?: readonly Scope[];
}

const ALL: readonly Scope[] = ['write', 'publish', 'tokens'];

const ALL_CALLERS = {
  anonymous: {},
  stranger: { token: 'stranger', user: 'stranger', scopes: ALL },
  owner: { token: 'owner', user: 'owner', scopes: ALL },
  'owner of another entity': { token: 'author', user: 'author', scopes: ALL },
  administrator: { token: 'admin', user: 'admin', isAdmin: true, scopes: [...ALL, 'admin'] },
  'administrator by a token that is not for that': {
    token: 'plain admin',
    user: 'admin',
    scopes: ['write', 'publish'],
  },
  'owner by a token that reads': { token: 'reading owner', user: 'owner', scopes: [] },
  'owner by a token that writes': { token: 'writing owner', user: 'owner', scopes: ['write'] },
  'holder of a view link': { link: 'view' },
  'holder of a preview link': { link: 'preview' },
  'holder of an edit link': { link: 'edit' },
  'holder of an expired edit link': { link: 'expired' },
  'holder of a revoked edit link': { link: 'revoked' },
  'holder of an edit link of another entity': { link: 'foreign' },
  'stranger with a view link': { token: 'stranger', user: 'stranger', scopes: ALL, link: 'view' },
  'stranger with a token that reads and an edit link': {
    token: 'reading stranger',
    user: 'stranger',
    scopes: [],
    link: 'edit',
  },
} as const satisfies Record<string, Caller>;

export type CallerName = keyof typeof ALL_CALLERS;
export const CALLERS: Readonly<Record<CallerName, Caller>> = ALL_CALLERS;
export const CALLER_NAMES = Object.keys(CALLERS) as CallerName[];

/** The scopes of the tokens that are not for everything. */
export const NARROW_TOKENS: readonly { name: TokenName; user: UserName; scopes: readonly Scope[] }[] = [
  { name: 'reading owner', user: 'owner', scopes: [] },
  { name: 'writing owner', user: 'owner', scopes: ['write'] },
  { name: 'reading stranger', user: 'stranger', scopes: [] },
  { name: 'plain admin', user: 'admin', scopes: ['write', 'publish'] },
];

/** The permission that a caller's link really gives on the entity it is presented for. */
export function permissionOf({ link }: Caller): Permission | undefined {
  return link === 'view' || link === 'preview' || link === 'edit' ? link : undefined;
}

/** Whether a caller has a valid credential; a link of another entity is one. */
export function hasCredentials({ token, link }: Caller): boolean {
  return token !== undefined || (link !== undefined && link !== 'expired' && link !== 'revoked');
}

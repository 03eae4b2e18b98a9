import { describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import {
  anonymous,
  type Principal,
  SCOPES,
  servicePrincipal,
  signPrincipal,
  signTicket,
  type Ticket,
  verifyPrincipal,
  verifyTicket,
} from './index.ts';

const key = 'a-key-of-at-least-thirty-two-characters';
const start = Date.parse('2026-11-21T06:00:00Z');
const at = (offsetMs: number) => () => new Date(start + offsetMs);

const principal: Principal = {
  userId: '12',
  isAdmin: true,
  scopes: SCOPES,
  grants: [{ linkId: 'l', parentId: 'p', permission: 'preview' }],
  service: null,
  tokenId: 't-1',
  requestId: 'r-ü',
};
const ticket: Ticket = {
  audience: 'files',
  entityId: 'aaaaa-aaaaa',
  parentId: 'bbbbb-bbbbb',
  form: 'draft',
  actions: ['read_files', 'write_files'],
  sourceEntityId: null,
  ownerId: '7',
  userId: '12',
  expiresAt: start + 60_000,
};

function kindOf(work: () => unknown): string {
  try {
    work();
    return 'ok';
  } catch (error) {
    if (error instanceof ServiceError) return error.kind;
    throw error;
  }
}

/** Every token that differs from the given one in one character, and some of other shapes. */
function* forgeries(token: string): Generator<string> {
  yield* [
    '',
    '.',
    '..',
    'a.b',
    `${token}.`,
    `.${token}`,
    token.split('.')[0] ?? '',
    `${token.split('.')[0]}.`,
  ];
  for (let index = 0; index < token.length; index += 1) {
    const other = token[index] === 'A' ? 'Q' : 'A';
    yield token.slice(0, index) + other + token.slice(index + 1);
  }
}

describe('principal token', () => {
  test.each([principal, anonymous('r1'), servicePrincipal('search', 'r2')])(
    'returns the principal',
    (caller) => {
      const token = signPrincipal(caller, { audience: 'records', key });
      expect(verifyPrincipal(token, { audience: 'records', key })).toEqual(caller);
    },
  );

  test('creates a separate request id for services', () => {
    expect(servicePrincipal('search').requestId).not.toBe(servicePrincipal('search').requestId);
  });

  test.each([
    { name: 'at once', verify: { audience: 'records', key, now: at(0) }, kind: 'ok' },
    { name: 'after 30 seconds', verify: { audience: 'records', key, now: at(30_000) }, kind: 'ok' },
    { name: 'later', verify: { audience: 'records', key, now: at(30_001) }, kind: 'unauthenticated' },
    { name: 'by a clock a little behind', verify: { audience: 'records', key, now: at(-5_000) }, kind: 'ok' },
    {
      name: 'by a clock far behind',
      verify: { audience: 'records', key, now: at(-5_001) },
      kind: 'unauthenticated',
    },
    { name: 'by another service', verify: { audience: 'files', key, now: at(0) }, kind: 'unauthenticated' },
    {
      name: 'with another key',
      verify: { audience: 'records', key: `${key}!`, now: at(0) },
      kind: 'unauthenticated',
    },
  ])('verified $name: $kind', ({ verify, kind }) => {
    const token = signPrincipal(principal, { audience: 'records', key, now: at(0) });
    expect(kindOf(() => verifyPrincipal(token, verify))).toBe(kind);
  });

  test('is invalid when one character differs', () => {
    const token = signPrincipal(principal, { audience: 'records', key });
    const accepted = [...forgeries(token)].filter(
      (forged) => kindOf(() => verifyPrincipal(forged, { audience: 'records', key })) !== 'unauthenticated',
    );
    expect(accepted).toEqual([]);
  });
});

describe('ticket', () => {
  test('is returned as it was signed', () => {
    const check = { audience: 'files', key, actions: ['import_files', 'write_files'], now: at(0) } as const;
    expect(verifyTicket(signTicket(ticket, key), check)).toEqual(ticket);
  });

  test.each([
    { name: 'just before it expires', check: { now: at(59_999) }, kind: 'ok' },
    { name: 'when it expires', check: { now: at(60_000) }, kind: 'unauthenticated' },
    { name: 'for an action it does not name', check: { actions: ['import_files'] }, kind: 'forbidden' },
    { name: 'by another service', check: { audience: 'access-links' as const }, kind: 'unauthenticated' },
    { name: 'with another key', check: { key: `${key}!` }, kind: 'unauthenticated' },
  ])('used $name: $kind', ({ check, kind }) => {
    const token = signTicket(ticket, key);
    const defaults = { audience: 'files' as const, key, actions: ['read_files'], now: at(0) };
    expect(kindOf(() => verifyTicket(token, { ...defaults, ...check }))).toBe(kind);
  });

  test('cannot be used as a principal, nor the other way round', () => {
    const asPrincipal = () => verifyPrincipal(signTicket(ticket, key), { audience: 'files', key });
    const asTicket = () => {
      const token = signPrincipal(principal, { audience: 'files', key });
      return verifyTicket(token, { audience: 'files', key, actions: ['read_files'] });
    };
    expect([kindOf(asPrincipal), kindOf(asTicket)]).toEqual(['unauthenticated', 'unauthenticated']);
  });
});

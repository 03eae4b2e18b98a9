import { describe, expect, test } from '@jest/globals';
import { checkLinkChange, checkNewLink, type LinkInput } from './link.ts';

const now = new Date('2026-11-21T12:00:00Z');
const at = (iso: string) => new Date(iso);
const required = { field: 'permission', messages: ['An access permission level is required'] };
const badDate = { field: 'expires_at', messages: ['Not a valid datetime.'] };
const past = { field: 'expires_at', messages: ['Expiration date must be set to the future'] };
const nullDate = { field: 'expires_at', messages: ['Field may not be null.'] };
const postponed = { field: 'expires_at', messages: ['Cannot postpone expiration of links'] };
const badPermission = (message: string) => ({ field: 'permission', messages: [message] });

type Body = Record<string, unknown>;

describe('a new link', () => {
  test.each<[Body, LinkInput]>([
    [{ permission: 'view' }, { permission: 'view', expiresAt: null }],
    [
      { permission: 'edit', expires_at: null },
      { permission: 'edit', expiresAt: null },
    ],
    ...(
      [
        ['2030-01-01T00:00:00', '2030-01-01T00:00:00Z'],
        ['2030-01-01 00:00', '2030-01-01T00:00:00Z'],
        ['2030-01-01T00:00:00Z', '2030-01-01T00:00:00Z'],
        ['2030-01-01T00:00:00.123456z', '2030-01-01T00:00:00.123Z'],
        ['2030-01-01T00:00:00.5+00:00', '2030-01-01T00:00:00.5Z'],
        ['2030-01-01T00:00:00+02:00', '2029-12-31T22:00:00Z'],
        ['2030-01-01T00:00:00-0130', '2030-01-01T01:30:00Z'],
        ['2030-01-01T00:00:00+02', '2029-12-31T22:00:00Z'],
        ['2028-02-29T00:00:00', '2028-02-29T00:00:00Z'],
        ['2026-11-21T12:00:00.001', '2026-11-21T12:00:00.001Z'],
        ['9999-12-31T23:59:59', '9999-12-31T23:59:59Z'],
      ] as const
    ).map(([sent, meant]): [Body, LinkInput] => [
      { permission: 'preview', expires_at: sent },
      { permission: 'preview', expiresAt: at(meant) },
    ]),
  ])('%j is created as requested', (body, input) => {
    expect(checkNewLink(body, now)).toEqual({ input, issues: [] });
  });

  test.each<[Body, unknown[]]>([
    [{}, [required]],
    [{ permission: null }, [badPermission('Field may not be null.')]],
    [{ permission: 3 }, [badPermission('Not a valid string.')]],
    [{ permission: ['view'] }, [badPermission('Not a valid string.')]],
    [{ permission: 'own' }, [badPermission('Must be one of: view, preview, edit.')]],
    [{ permission: 'View' }, [badPermission('Must be one of: view, preview, edit.')]],
    [{ permission: '' }, [badPermission('Must be one of: view, preview, edit.')]],
    [{ permission: 'toString' }, [badPermission('Must be one of: view, preview, edit.')]],
    ...[
      '',
      'tomorrow',
      '2030-01-01',
      '2030-01-01T',
      '2030-13-01T00:00:00',
      '2030-02-30T00:00:00',
      '2030-01-01T24:00:00',
      '2030-01-01T00:60:00',
      '2030-01-01T00:00:61',
      '2030-01-01T00:00:00+99:00',
      '2030-01-01T00:00:00 UTC',
      '20300101T000000',
      '+12030-01-01T00:00:00',
      1_900_000_000,
      true,
      {},
      [],
    ].map((sent): [Body, unknown[]] => [{ permission: 'view', expires_at: sent }, [badDate]]),
    ...[
      '2001-01-01T00:00:00',
      '2026-11-21T12:00:00Z',
      '2026-11-21T13:00:00+01:00',
      '0000-01-01T00:00:00',
    ].map((sent): [Body, unknown[]] => [{ permission: 'view', expires_at: sent }, [past]]),
    [
      { token: 'x', expires_at: 'x', id: 'y' },
      [
        required,
        badDate,
        { field: 'token', messages: ['Unknown field.'] },
        { field: 'id', messages: ['Unknown field.'] },
      ],
    ],
  ])('%j is refused with every reason', (body, issues) => {
    expect(checkNewLink(body, now).issues).toEqual(issues);
  });
});

describe('a change of a link', () => {
  const never = { expiresAt: null };
  const in2030 = { expiresAt: at('2030-01-01T00:00:00Z') };
  const gone = { expiresAt: at('2026-01-01T00:00:00Z') };

  test.each<{
    name: string;
    body: Body;
    link: { expiresAt: Date | null };
    input: LinkInput;
    issues: unknown[];
  }>([
    {
      name: 'keeps the expiry',
      body: { permission: 'edit' },
      link: in2030,
      input: { permission: 'edit', ...in2030 },
      issues: [],
    },
    {
      name: 'sets one where there was none',
      body: { permission: 'view', expires_at: '2040-01-01T00:00:00' },
      link: never,
      input: { permission: 'view', expiresAt: at('2040-01-01T00:00:00Z') },
      issues: [],
    },
    {
      name: 'brings it nearer',
      body: { permission: 'view', expires_at: '2029-01-01T00:00:00' },
      link: in2030,
      input: { permission: 'view', expiresAt: at('2029-01-01T00:00:00Z') },
      issues: [],
    },
    {
      name: 'may repeat it',
      body: { permission: 'view', expires_at: '2030-01-01T00:00:00' },
      link: in2030,
      input: { permission: 'view', ...in2030 },
      issues: [],
    },
    {
      name: 'does not postpone it',
      body: { permission: 'view', expires_at: '2030-01-01T00:00:00.001' },
      link: in2030,
      input: { permission: 'view', expiresAt: at('2030-01-01T00:00:00.001Z') },
      issues: [postponed],
    },
    {
      name: 'does not bring an expired one back',
      body: { permission: 'view', expires_at: '2027-01-01T00:00:00' },
      link: gone,
      input: { permission: 'view', expiresAt: at('2027-01-01T00:00:00Z') },
      issues: [postponed],
    },
    {
      name: 'needs the permission',
      body: {},
      link: in2030,
      input: { permission: 'view', ...in2030 },
      issues: [required],
    },
    {
      name: 'does not take the expiry away',
      body: { permission: 'view', expires_at: null },
      link: in2030,
      input: { permission: 'view', ...in2030 },
      issues: [nullDate],
    },
    {
      name: 'is not an end by the back door',
      body: { permission: 'view', expires_at: '2020-01-01T00:00:00' },
      link: in2030,
      input: { permission: 'view', ...in2030 },
      issues: [past],
    },
  ])('$name', ({ body, link, input, issues }) => {
    expect(checkLinkChange(body, link, now)).toEqual({ input, issues });
  });
});

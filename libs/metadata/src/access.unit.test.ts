import { describe, expect, test } from '@jest/globals';
import { accessStatus, checkAccess, effectiveAccess, OPEN_ACCESS, renderAccess } from './access.ts';

const now = new Date('2026-11-21T12:00:00Z');
const check = (input: unknown) => checkAccess(input, { now });

describe('access', () => {
  test.each<
    [
      input: unknown,
      issues: readonly (readonly [string, string])[],
      fatal: readonly (readonly [string, string])[],
    ]
  >([
    [{ record: 'public', files: 'restricted', status: 'open' }, [], []],
    [
      {},
      [
        ['access.record', 'Missing data for required field.'],
        ['access.files', 'Missing data for required field.'],
      ],
      [],
    ],
    [{ record: 'public' }, [], [['access.files', 'Missing data for required field.']]],
    [
      { record: 'foo', files: 'public' },
      [],
      [['access.record', "'record' must be either 'public' or 'restricted'"]],
    ],
    ['open', [], [['access._schema', 'Invalid input type.']]],
    [{ record: 'public', files: 'public', foo: 1 }, [['access.foo', 'Unknown field.']], []],
    [
      { record: 'public', files: 'public', embargo: null },
      [['access.embargo', 'Field may not be null.']],
      [],
    ],
    [
      { record: 'public', files: 'public', embargo: { active: true } },
      [['access.embargo.until', 'Embargo end date must be set to a future date.']],
      [],
    ],
    [
      { record: 'public', files: 'public', embargo: { active: true, until: '2026-11-21' } },
      [['access.embargo.until', 'Embargo end date must be set to a future date.']],
      [],
    ],
    [{ record: 'public', files: 'public', embargo: { active: true, until: '2026-11-22' } }, [], []],
    [
      { record: 'public', files: 'public', embargo: { active: false, until: '2099-01-01' } },
      [['access.embargo.until', 'Embargo end date must be unset or in the past.']],
      [],
    ],
    [
      { record: 'public', files: 'public', embargo: { until: 'soon' } },
      [['access.embargo.until', 'Not a valid date.']],
      [],
    ],
    [
      { record: 'public', files: 'public', embargo: { active: 'yes' } },
      [['access.embargo.active', 'Not a valid boolean.']],
      [],
    ],
  ])('%j', (input, issues, fatal) => {
    const flat = (list: readonly { field: string; messages: readonly string[] }[]) =>
      list.flatMap(({ field, messages }) => messages.map((message) => [field, message]));
    const checked = check(input);
    expect({ issues: flat(checked.issues), fatal: flat(checked.fatal) }).toEqual({ issues, fatal });
  });

  test('only a future end makes an embargo active', () => {
    expect(
      check({ record: 'public', files: 'restricted', embargo: { until: '2099-01-01' } }).access.embargo,
    ).toEqual({
      active: true,
      until: '2099-01-01',
      reason: null,
    });
  });

  test('an embargo opens in the second in which it ends', () => {
    const { access } = check({
      record: 'restricted',
      files: 'restricted',
      embargo: { active: true, until: '2027-01-01' },
    });
    expect(effectiveAccess(access, new Date('2026-12-31T23:59:59.999Z'))).toEqual({
      record: 'restricted',
      files: 'restricted',
      isEmbargoed: true,
    });
    expect(renderAccess(access, 1, new Date('2027-01-01T00:00:00Z'))).toEqual({
      record: 'public',
      files: 'public',
      embargo: { active: false, until: '2027-01-01', reason: null },
      status: 'open',
    });
  });

  test.each([
    ['public', 'public', 0, 'metadata-only'],
    ['public', 'restricted', 0, 'metadata-only'],
    ['public', 'public', 2, 'open'],
    ['public', 'restricted', 2, 'restricted'],
    ['restricted', 'restricted', 0, 'restricted'],
  ] as const)('a %s record with %s files, %d of them, is %s', (record, files, count, status) => {
    expect(accessStatus({ ...OPEN_ACCESS, record, files }, count, now)).toBe(status);
  });
});

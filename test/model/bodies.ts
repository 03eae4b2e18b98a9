import fc from 'fast-check';
import type { Body } from './document-rules.ts';

const PERSONS = [
  { type: 'personal', family_name: 'Moreau', given_name: 'Lise' },
  { type: 'personal', family_name: 'Okafor' },
  { type: 'organizational', name: 'River Observatory' },
];
const BAD_PERSONS = [{ type: 'personal', given_name: 'Lise' }, { type: 'organizational' }];

const title = fc.nat({ max: 99 }).map((number) => `Rivers ${number}`);
const date = fc.constantFrom('2026-03-02', '2026', '2025-11', '2020/2021-06');
const creators = fc
  .array(fc.constantFrom(...PERSONS), { minLength: 1, maxLength: 2 })
  .map((persons) => persons.map((person) => ({ person_or_org: person })));

const completeMetadata = fc.record(
  {
    title,
    publication_date: date,
    creators,
    resource_type: fc.constant({ id: 'dataset' }),
    publisher: fc.constantFrom('River Observatory', 'Lake Office'),
    version: fc.constantFrom('v1', '2.0'),
  },
  { requiredKeys: ['title', 'publication_date', 'creators', 'resource_type'] },
);

const oddMetadata = fc.record(
  {
    title: fc.oneof(title, fc.constantFrom<unknown>('ab', ' a ', '', null, 42, ['Rivers'])),
    publication_date: fc.oneof(date, fc.constantFrom<unknown>('soon', '2024-02-30', '2021/2020', null, 7)),
    creators: fc.oneof(
      creators,
      fc.constant([]),
      fc.constantFrom(...BAD_PERSONS).map((person) => [{ person_or_org: person }]),
    ),
    resource_type: fc.constantFrom({ id: 'dataset' }, { id: 'nonesuch' }),
    publisher: fc.constant('River Observatory'),
    colour: fc.constant('blue'),
  },
  { requiredKeys: [] },
);

const OPEN = { record: 'public', files: 'public' };
const CLOSED = { record: 'restricted', files: 'restricted' };

const access = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(OPEN, CLOSED) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      { record: 'public', files: 'restricted' },
      { record: 'restricted', files: 'public' },
      { ...OPEN, embargo: { active: true, until: '2090-01-01', reason: 'Thesis' } },
      { ...CLOSED, embargo: { active: true, until: '2091-12-31' } },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<NonNullable<Body['access']>>(
      {},
      { record: 'public' },
      { files: 'restricted' },
      { record: 'secret', files: 'public' },
      { ...OPEN, embargo: { active: true, until: '2020-01-01' } },
      { ...OPEN, embargo: { active: true } },
    ),
  },
);

export const fileKey = fc.constantFrom('a.txt', 'b.csv', 'c d.png');

const files = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ enabled: false }) },
  { weight: 4, arbitrary: fc.constant({ enabled: true }) },
  {
    weight: 2,
    arbitrary: fc.record(
      { enabled: fc.boolean(), default_preview: fileKey, order: fc.uniqueArray(fileKey, { maxLength: 3 }) },
      { requiredKeys: ['enabled'] },
    ),
  },
);

const rest = { access, files, pids: fc.constant({}) };

/** A body that may be published, if its files allow. */
export const completeBody: fc.Arbitrary<Body> = fc.record(
  {
    metadata: completeMetadata,
    access: fc.constantFrom(OPEN, OPEN, OPEN, CLOSED),
    files: fc.oneof({ weight: 3, arbitrary: fc.constant({ enabled: false }) }, files),
  },
  { requiredKeys: ['metadata', 'files'] },
);

export const anyBody: fc.Arbitrary<Body> = fc.oneof(
  { weight: 5, arbitrary: completeBody },
  {
    weight: 3,
    arbitrary: fc.record(
      { metadata: fc.oneof(completeMetadata, oddMetadata), ...rest },
      { requiredKeys: [] },
    ),
  },
);

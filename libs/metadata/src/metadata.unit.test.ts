import { describe, expect, test } from '@jest/globals';
import { checkMetadata, renderMetadata } from './metadata.ts';
import { RELEASED_VOCABULARIES as vocabularies } from './vocabularies.ts';

const CREATOR = { person_or_org: { type: 'personal', family_name: 'Carberry', given_name: 'Josiah' } };
const COMPLETE = {
  resource_type: { id: 'image-photo' },
  creators: [CREATOR],
  title: 'Flood map',
  publication_date: '2024-03-01',
};

function issuesOf(part: Record<string, unknown>): Record<string, readonly string[]> {
  const { issues } = checkMetadata({ ...COMPLETE, ...part }, 'record', { strict: false, vocabularies });
  return Object.fromEntries(issues.map(({ field, messages }) => [field, messages]));
}

describe('metadata', () => {
  test('that is complete has no issues, and its public form has the derived fields', () => {
    const { metadata, issues } = checkMetadata(
      { ...COMPLETE, languages: [{ id: 'eng' }], rights: [{ id: 'cc-by-4.0' }] },
      'record',
      { strict: true, vocabularies },
    );
    expect(issues).toEqual([]);
    expect(renderMetadata(metadata, 'record', vocabularies)).toEqual({
      resource_type: { id: 'image-photo', title: { en: 'Photo' } },
      creators: [
        {
          person_or_org: {
            type: 'personal',
            name: 'Carberry, Josiah',
            given_name: 'Josiah',
            family_name: 'Carberry',
          },
        },
      ],
      title: 'Flood map',
      publication_date: '2024-03-01',
      languages: [{ id: 'eng', title: { en: 'English' } }],
      rights: [
        {
          id: 'cc-by-4.0',
          title: { en: 'Creative Commons Attribution 4.0 International' },
          description: { en: expect.any(String) },
          icon: 'cc-by-icon',
          props: { url: 'https://creativecommons.org/licenses/by/4.0/legalcode', scheme: 'spdx' },
        },
      ],
    });
  });

  test('in its public form can be sent back unchanged, and is stored the same', () => {
    const sent = {
      ...COMPLETE,
      rights: [{ id: 'cc-by-4.0' }],
      subjects: [{ subject: 'floods' }],
      related_identifiers: [
        {
          identifier: 'doi:10.1000/x',
          scheme: 'doi',
          relation_type: { id: 'cites' },
          resource_type: { id: 'dataset' },
        },
      ],
      geo_work_programme_activity: { id: 'geo-activities-geobon' },
    };
    const first = checkMetadata(sent, 'record', { strict: true, vocabularies });
    const second = checkMetadata(renderMetadata(first.metadata, 'record', vocabularies), 'record', {
      strict: true,
      vocabularies,
    });
    expect(second).toEqual({ metadata: first.metadata, issues: [], fatal: [] });
  });

  test('that is missing is fine for a draft and incomplete for publishing', () => {
    expect(checkMetadata(undefined, 'record', { strict: false, vocabularies })).toEqual({
      metadata: {},
      issues: [],
      fatal: [],
    });
    const { issues } = checkMetadata(undefined, 'package', { strict: true, vocabularies });
    expect(issues).toEqual(
      ['metadata.creators', 'metadata.title', 'metadata.publication_date'].map((field) => ({
        field,
        messages: ['Missing data for required field.'],
      })),
    );
  });

  test('of a package always is of type knowledge', () => {
    const { metadata, issues } = checkMetadata(COMPLETE, 'package', { strict: true, vocabularies });
    expect(issues).toEqual([]);
    expect(renderMetadata(metadata, 'package', vocabularies)['resource_type']).toEqual({
      id: 'knowledge',
      title: { en: 'Knowledge Package' },
    });
  });

  test('stores invalid values as they were sent', () => {
    const wrong = {
      title: 7,
      creators: [{ person_or_org: 'nobody' }],
      languages: [{ id: 'xx-bad' }],
      version: null,
    };
    const { metadata } = checkMetadata({ ...COMPLETE, ...wrong }, 'record', { strict: false, vocabularies });
    expect(renderMetadata(metadata, 'record', vocabularies)).toMatchObject(wrong);
  });

  test('adds the engagement priorities of a work-programme activity, each once', () => {
    const { metadata } = checkMetadata(
      {
        ...COMPLETE,
        geo_work_programme_activity: { id: 'geo-activities-geobon' },
        engagement_priorities: [{ id: 'sdg-goal-4' }, { id: 'convention-on-biological-diversity' }],
      },
      'record',
      { strict: true, vocabularies },
    );
    expect(metadata['engagement_priorities']).toEqual([
      { id: 'sdg-goal-4' },
      { id: 'convention-on-biological-diversity' },
    ]);
  });

  test.each<[name: string, part: Record<string, unknown>, issues: Record<string, readonly string[]>]>([
    ['title too short', { title: 'ab' }, { 'metadata.title': ['Shorter than minimum length 3.'] }],
    ['title null', { title: null }, { 'metadata.title': ['Field may not be null.'] }],
    ['title a number', { title: 1 }, { 'metadata.title': ['Not a valid string.'] }],
    ['unknown field', { foo: 1 }, { 'metadata.foo': ['Unknown field.'] }],
    [
      'impossible date',
      { publication_date: '2024-02-30' },
      { 'metadata.publication_date': ['Please provide a valid date or interval.'] },
    ],
    [
      'reversed interval',
      { publication_date: '2024/2023' },
      { 'metadata.publication_date': ['Please provide a valid date or interval.'] },
    ],
    [
      'open interval',
      { publication_date: '2024/..' },
      { 'metadata.publication_date': ['Please provide a valid date or interval.'] },
    ],
    [
      'negative year',
      { publication_date: '-0100' },
      { 'metadata.publication_date': ['Please provide a valid date or interval.'] },
    ],
    ['month precision', { publication_date: '2024-02' }, {}],
    ['season', { publication_date: '2020-21' }, {}],
    ['leap day interval', { publication_date: '2024-02-29/2024-03' }, {}],
    ['no creators', { creators: [] }, { 'metadata.creators': ['Missing data for required field.'] }],
    ['creators an object', { creators: {} }, { 'metadata.creators': ['Not a valid list.'] }],
    [
      'creator without family name',
      { creators: [{ person_or_org: { type: 'personal' } }] },
      { 'metadata.creators.0.person_or_org.family_name': ['Family name cannot be blank.'] },
    ],
    [
      'organisation without name',
      { creators: [{ person_or_org: { type: 'organizational' } }] },
      { 'metadata.creators.0.person_or_org.name': ['Name cannot be blank.'] },
    ],
    [
      'creator of no type',
      { creators: [{ person_or_org: { name: 'x' } }] },
      {
        'metadata.creators.0.person_or_org.type': [
          "Invalid value. Choose one of ['organizational', 'personal'].",
        ],
      },
    ],
    [
      'affiliation empty',
      { creators: [{ ...CREATOR, affiliations: [{}] }] },
      {
        'metadata.creators.0.affiliations.0.affiliations': [
          'An existing id or a free text name must be present.',
        ],
      },
    ],
    [
      'contributor without role',
      { contributors: [CREATOR] },
      { 'metadata.contributors.0.role': ['Missing data for required field.'] },
    ],
    [
      'bad ORCID',
      {
        creators: [
          {
            person_or_org: {
              ...CREATOR.person_or_org,
              identifiers: [
                { scheme: 'orcid', identifier: '0000-0000-0000-0001' },
                { scheme: 'nope', identifier: '1' },
              ],
            },
          },
        ],
      },
      {
        'metadata.creators.0.person_or_org.identifiers.0.identifier': ['Invalid ORCID identifier.'],
        'metadata.creators.0.person_or_org.identifiers.1.scheme': ['Invalid scheme.'],
      },
    ],
    [
      'empty identifier',
      { identifiers: [{}] },
      {
        'metadata.identifiers.0.identifier': ['Missing data for required field.'],
        'metadata.identifiers.0.scheme': ['Missing data for required field.'],
      },
    ],
    [
      'two identifiers of a scheme',
      {
        identifiers: [
          { identifier: 'no identifier' },
          { identifier: '10.1000/b' },
          { identifier: '10.1000/c' },
        ],
      },
      {
        'metadata.identifiers.0.scheme': ['No valid scheme recognized for identifier.'],
        'metadata.identifiers': ['Only one identifier per scheme is allowed.'],
      },
    ],
    [
      'unknown language',
      { languages: [{ id: 'zzzz' }] },
      { 'metadata.languages.0': ['Invalid value zzzz.'] },
    ],
    ['language as text', { languages: ['eng'] }, { 'metadata.languages.0._schema': ['Invalid input type.'] }],
    [
      'subject empty',
      { subjects: [{}] },
      { 'metadata.subjects.0.subjects': ['An existing id or a free text subject must be present.'] },
    ],
    [
      'rights empty',
      { rights: [{}] },
      { 'metadata.rights.0.rights': ['An existing id or a free text title must be present'] },
    ],
    [
      'rights id and link',
      { rights: [{ id: 'mit', link: 'https://x.org' }] },
      {
        'metadata.rights.0.rights': [
          'Only an existing id or free text title/description/link is accepted, but not both cases at the same time',
        ],
      },
    ],
    [
      'rights link',
      { rights: [{ title: { en: 'Own' }, link: 'nowhere' }] },
      { 'metadata.rights.0.link': ['Not a valid URL.'] },
    ],
    [
      'rights title in two languages',
      { rights: [{ title: { en: 'a', de: 'b' } }] },
      { 'metadata.rights.0.title': ['Only one value is accepted.'] },
    ],
    ['blank size', { sizes: ['1 MB', ' '] }, { 'metadata.sizes.1': ['Size cannot be a blank string.'] }],
    ['no funder', { funding: [{}] }, { 'metadata.funding.0.funder': ['Missing data for required field.'] }],
    [
      'funder empty',
      { funding: [{ funder: {} }] },
      { 'metadata.funding.0.funder.funder': ['An existing id or a free text name must be present.'] },
    ],
    [
      'award empty',
      { funding: [{ funder: { name: 'x' }, award: {} }] },
      { 'metadata.funding.0.award.award': ['An existing id or number/title must be present.'] },
    ],
    [
      'award with a title that is no text',
      { funding: [{ funder: { name: 'x' }, award: { number: '1', title: { en: 7 } } }] },
      { 'metadata.funding.0.award.title.en': ['Not a valid string.'] },
    ],
    [
      'geometry of no type',
      { locations: { features: [{ geometry: {} }] } },
      { 'metadata.locations.features.0.geometry.type': ['Missing data for required field.'] },
    ],
    [
      'geometry of unknown type',
      { locations: { features: [{ geometry: { type: 'Foo' } }] } },
      { 'metadata.locations.features.0.geometry.type': ['Unsupported value: Foo'] },
    ],
    [
      'geometry named like a method',
      { locations: { features: [{ geometry: { type: 'toString', coordinates: [] } }] } },
      { 'metadata.locations.features.0.geometry.type': ['Unsupported value: toString'] },
    ],
    [
      'one-number point',
      { locations: { features: [{ geometry: { type: 'Point', coordinates: [1] } }] } },
      { 'metadata.locations.features.0.geometry.coordinates': ['Not valid coordinates of a Point.'] },
    ],
    ...(
      [
        ['beyond the pole', { type: 'Point', coordinates: [0, 90.1] }],
        [
          'beyond the date line',
          {
            type: 'LineString',
            coordinates: [
              [0, 0],
              [-181, 0],
            ],
          },
        ],
      ] as const
    ).map(([name, geometry]): [string, Record<string, unknown>, Record<string, readonly string[]>] => [
      `position ${name}`,
      { locations: { features: [{ geometry }] } },
      {
        'metadata.locations.features.0.geometry.coordinates': [
          'Longitude must be between -180 and 180, latitude between -90 and 90.',
        ],
      },
    ]),
    [
      'open ring',
      {
        locations: {
          features: [
            {
              geometry: {
                type: 'Polygon',
                coordinates: [
                  [
                    [0, 0],
                    [1, 0],
                    [1, 1],
                  ],
                ],
              },
            },
          ],
        },
      },
      { 'metadata.locations.features.0.geometry.coordinates': ['Not valid coordinates of a Polygon.'] },
    ],
    [
      'related identifier without relation',
      { related_identifiers: [{ identifier: '10.1000/a' }] },
      { 'metadata.related_identifiers.0.relation_type': ['Missing data for required field.'] },
    ],
  ])('%s', (_name, part, issues) => {
    expect(issuesOf(part)).toEqual(issues);
  });

  test.each(['__proto__', 'toString', 'constructor'])('reports %s as an unknown field', (name) => {
    expect(issuesOf(JSON.parse(`{"${name}": 1}`))).toEqual({ [`metadata.${name}`]: ['Unknown field.'] });
  });

  test('loses control characters and overrides of text direction, but not the marks that right-to-left texts need', () => {
    const sent = 'a\u0007\u007f\u0085\u009b2J\u202egpj\u202c \u2067עברית\u2069\u200f\tb';
    const storedForm = 'a2Jgpj \u2067עברית\u2069\u200f\tb';
    const { metadata } = checkMetadata(
      {
        ...COMPLETE,
        title: sent,
        description: sent,
        publisher: sent,
        creators: [{ person_or_org: { type: 'personal', family_name: sent } }],
      },
      'record',
      { strict: false, vocabularies },
    );
    expect(metadata).toMatchObject({
      title: storedForm,
      description: storedForm,
      publisher: storedForm,
      creators: [{ person_or_org: { family_name: storedForm } }],
    });
  });

  test('loses scripts and handlers from descriptions, not their text', () => {
    const { metadata } = checkMetadata(
      {
        ...COMPLETE,
        description: '<p onclick="x()">ok</p><script>alert(1)</script><a href="javascript:x()">y</a>',
      },
      'record',
      { strict: false, vocabularies },
    );
    expect(metadata['description']).toBe('<p>ok</p>alert(1)<a>y</a>');
  });
});

describe('HTML beyond its limits is refused, with the field', () => {
  const described = (description: string, count: number) => ({
    ...COMPLETE,
    additional_descriptions: Array.from({ length: count }, () => ({ description, type: { id: 'abstract' } })),
  });

  test.each([
    { name: '10,000 tags', text: '<b>'.repeat(2_000), count: 5, fatal: [] },
    {
      name: '10,001 tags',
      text: '<b>'.repeat(3_334),
      count: 4,
      fatal: [
        {
          field: 'metadata.additional_descriptions.2.description',
          messages: ['More than 10000 HTML tags in this and the fields before it.'],
        },
      ],
    },
    { name: 'a text of 65,536 characters when cleaned', text: `${'&'.repeat(13_107)}x`, count: 1, fatal: [] },
    {
      name: 'a text that grows beyond 65,536 characters when cleaned',
      text: '&'.repeat(13_108),
      count: 1,
      fatal: [
        {
          field: 'metadata.additional_descriptions.0.description',
          messages: ['Longer than maximum length 65536 as HTML.'],
        },
      ],
    },
    {
      name: 'texts of more than 1 MiB together when cleaned',
      text: '&'.repeat(13_107),
      count: 20,
      fatal: [
        {
          field: 'metadata.additional_descriptions.16.description',
          messages: ['Longer than maximum length 1048576 as HTML with the fields before it.'],
        },
      ],
    },
  ])('$name', ({ text, count, fatal }) => {
    expect(checkMetadata(described(text, count), 'record', { strict: false, vocabularies }).fatal).toEqual(
      fatal,
    );
  });

  test('an accepted document can be sent back in its public form', () => {
    const once = checkMetadata(described('&'.repeat(13_107), 3), 'record', { strict: false, vocabularies });
    const again = checkMetadata(once.metadata, 'record', { strict: false, vocabularies });
    expect(again).toEqual(once);
  });
});

describe('a document with more problems than anybody reads', () => {
  const features = Array.from({ length: 330 }, () => ({ identifiers: Array(1_000).fill({}) }));

  test('has the first hundred listed, and that there are more', () => {
    const { issues } = checkMetadata({ title: 'x', locations: { features } }, 'record', {
      strict: false,
      vocabularies,
    });
    expect(issues.flatMap(({ messages }) => messages)).toHaveLength(101);
    expect(issues.at(-1)).toEqual({
      field: '_schema',
      messages: ['There are more problems; the first 100 are listed.'],
    });
  });

  test('stores the value as it was sent', () => {
    const { metadata } = checkMetadata({ locations: { features } }, 'record', {
      strict: false,
      vocabularies,
    });
    expect(metadata).toEqual({ locations: { features } });
  });
});

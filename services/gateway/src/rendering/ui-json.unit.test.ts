import { describe, expect, test } from '@jest/globals';
import { withUi } from './ui-json.ts';

const lake = { person_or_org: { type: 'organizational', name: 'Lake Office' } };
const brown = { name: 'Brown University' };
const entity = {
  id: 'e7vvn-90a62',
  created: '2026-11-21 06:54:56.202528',
  updated: '2026-11-22 06:54:56.202528',
  parent: {},
  versions: { index: 3 },
  is_draft: false,
  metadata: {
    title: 'Rivers',
    publication_date: '2020-06-01',
    resource_type: { id: 'dataset', title: { en: 'Dataset' } },
    description: '<p>Water &amp; <b>ice</b> &lt; 3</p>',
    creators: [
      { ...lake, affiliations: [brown, { id: 'cern', name: 'CERN' }] },
      { ...lake, role: { id: 'editor', title: { en: 'Editor' } }, affiliations: [brown] },
      lake,
    ],
    additional_titles: [
      {
        title: 'Flüsse',
        type: { id: 'other', title: { en: 'Other' } },
        lang: { id: 'deu', title: { en: 'German' } },
      },
    ],
    rights: [
      { id: 'cc0-1.0', title: { en: 'CC0' }, description: { de: 'frei' }, icon: 'cc', props: { url: 'u' } },
    ],
    related_identifiers: [
      { identifier: '10.1/x', scheme: 'doi', relation_type: { id: 'cites', title: { en: 'Cites' } } },
    ],
    dates: [{ date: '2020', type: { id: 'created', title: { en: 'Created' } } }],
    languages: [{ id: 'eng', title: { en: 'English' } }],
  },
  access: { record: 'public', files: 'public', embargo: { active: false, reason: null }, status: 'open' },
  custom_fields: {},
};

const uiOf = (changes: object = {}) =>
  (withUi({ ...entity, ...changes }) as { ui: Record<string, unknown> }).ui;

describe('the vendor media type', () => {
  test('adds what a page shows of an entity', () => {
    expect(withUi(entity)).toEqual({
      ...entity,
      ui: {
        publication_date_l10n_medium: 'Jun 1, 2020',
        publication_date_l10n_long: 'June 1, 2020',
        created_date_l10n_long: 'November 21, 2026',
        updated_date_l10n_long: 'November 22, 2026',
        resource_type: { id: 'dataset', title_l10n: 'Dataset' },
        additional_titles: [
          {
            title: 'Flüsse',
            type: { id: 'other', title_l10n: 'Other' },
            lang: { id: 'deu', title_l10n: 'German' },
          },
        ],
        custom_fields: {},
        access_status: {
          id: 'open',
          title_l10n: 'Open',
          description_l10n: 'The record and files are publicly accessible.',
          icon: 'unlock',
          embargo_date_l10n: null,
          message_class: '',
        },
        creators: {
          creators: [
            {
              ...lake,
              affiliations: [
                [1, 'Brown University'],
                [2, 'CERN'],
              ],
            },
            {
              ...lake,
              role: { id: 'editor', title_l10n: 'Editor' },
              affiliations: [[1, 'Brown University']],
            },
            lake,
          ],
          affiliations: [
            [1, 'Brown University', null],
            [2, 'CERN', 'cern'],
          ],
        },
        languages: [{ id: 'eng', title_l10n: 'English' }],
        description_stripped: 'Water & ice < 3',
        version: 'v3',
        rights: [
          { id: 'cc0-1.0', title_l10n: 'CC0', description_l10n: 'frei', icon: 'cc', props: { url: 'u' } },
        ],
        related_identifiers: [
          { identifier: '10.1/x', scheme: 'doi', relation_type: { id: 'cites', title_l10n: 'Cites' } },
        ],
        dates: [{ date: '2020', type: { id: 'created', title_l10n: 'Created' } }],
        is_draft: false,
      },
    });
  });

  test.each([
    ['restricted', 'restricted', 'restricted', 'The record and files are restricted to users with access.'],
    ['restricted', 'public', 'restricted', 'The files are restricted to users with access.'],
    ['metadata-only', 'public', 'public', 'No files are available for this record.'],
    [
      'embargoed',
      'public',
      'restricted',
      'The files are restricted until January 2, 2030 and become public then.',
    ],
  ])('describes %s access to a %s record with %s files', (status, record, files, description) => {
    const embargo = { active: status === 'embargoed', until: '2030-01-02', reason: null };
    const { access_status: texts } = uiOf({ access: { record, files, status, embargo } });
    expect(texts).toMatchObject({ id: status, description_l10n: description });
  });

  test('describes an unknown access status as restricted', () => {
    const { access_status: texts } = uiOf({ access: { record: 'public', files: 'public', status: 'new' } });
    expect(texts).toMatchObject({ id: 'new', title_l10n: 'Restricted', icon: 'ban' });
  });

  test('adds it to each hit of a listing, and to nothing else', () => {
    const listing = { hits: { hits: [entity, entity], total: 2 }, links: {} };
    const { ui } = withUi(entity) as { ui: object };
    const links = { hits: { hits: [{ id: 'a link', permission: 'view' }], total: 1 } };
    const file = { key: 'a.txt', metadata: {} };
    expect([withUi(listing), withUi(links), withUi(file), withUi(null)]).toEqual([
      {
        hits: {
          hits: [
            { ...entity, ui },
            { ...entity, ui },
          ],
          total: 2,
        },
        links: {},
      },
      links,
      file,
      null,
    ]);
  });

  test('does not fail for a draft in which little is written, or that was written wrongly', () => {
    const bare = uiOf({ metadata: {} });
    const wrong = uiOf({
      metadata: {
        publication_date: 'soon',
        creators: 'me',
        resource_type: 5,
        languages: [null],
        version: '2',
      },
    });
    expect([bare['version'], bare['creators'], wrong['version'], wrong['creators']]).toEqual([
      'v3',
      undefined,
      '2',
      { creators: [], affiliations: [] },
    ]);
  });
});

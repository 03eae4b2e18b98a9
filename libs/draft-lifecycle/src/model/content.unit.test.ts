import { describe, expect, test } from '@jest/globals';
import { RELEASED_VOCABULARIES } from '@kr/metadata';
import { type ContentInput, draftContent, draftFromPublished, nextVersionContent } from './content.ts';
import type { StoredDocument } from './entity.ts';
import { NO_FILES } from './files.ts';

const input: ContentInput = {
  kind: 'record',
  id: 'e7vvn-90a62',
  vocabularies: RELEASED_VOCABULARIES,
  doiPrefix: '10.5072',
  now: new Date('2026-01-01T00:00:00Z'),
  counts: NO_FILES,
  registered: {},
  before: null,
};
const open = { record: 'public', files: 'public', embargo: { active: false, reason: null } } as const;
const stored: StoredDocument = {
  metadata: { title: 'Map', publication_date: '2024', version: '1' },
  access: { ...open, record: 'restricted', files: 'restricted' },
  files: { enabled: true, default_preview: 'a', order: ['a'], entries: 2, total_bytes: 9 },
  pids: { doi: { identifier: '10.5072/x', provider: 'datacite', client: 'datacite' } },
  custom_fields: {},
};

describe('the content of a draft', () => {
  test('of an empty body is an open draft with files', () => {
    expect(draftContent({}, input)).toEqual({
      document: {
        metadata: {},
        access: open,
        files: { enabled: true, default_preview: null, order: [] },
        pids: {},
        custom_fields: {},
      },
      issues: [],
    });
  });

  test('closes the files of a restricted record', () => {
    const { document } = draftContent({ access: { record: 'restricted', files: 'public' } }, input);
    expect(document.access).toMatchObject({ record: 'restricted', files: 'restricted' });
  });

  test('refuses to guess who may see it', () => {
    const body = { access: { record: 'foo', files: 'public' } };
    expect(() => draftContent(body, input)).toThrow(
      expect.objectContaining({
        kind: 'invalid',
        issues: [expect.objectContaining({ field: 'access.record' })],
      }),
    );
  });

  test('keeps access that is not sent, with its problems, and nothing else', () => {
    const wrong = { field: 'access.embargo.until', messages: ['Not a valid date.'] };
    const former = { field: 'metadata.title', messages: ['Shorter than minimum length 3.'] };
    const before = { document: stored, issues: [former, wrong] };
    const { document, issues } = draftContent({ files: { enabled: false } }, { ...input, before });
    expect({ document, issues }).toEqual({
      document: {
        metadata: {},
        access: stored.access,
        files: { enabled: false, default_preview: null, order: [] },
        pids: stored.pids,
        custom_fields: {},
      },
      issues: [wrong],
    });
  });

  test('lists what is wrong part by part and ignores unknown top-level keys', () => {
    const body = {
      id: 'mine',
      links: {},
      metadata: { title: 'x' },
      custom_fields: { foo: 1 },
      pids: { foo: {} },
      files: { enabled: 1 },
    };
    expect(draftContent(body, input).issues.map(({ field }) => field)).toEqual(
      expect.arrayContaining(['metadata.title', 'custom_fields.foo', 'pids.foo.key', 'files.enabled']),
    );
  });
});

describe('the content that', () => {
  test('an edit starts from is the published one without the counts', () => {
    expect(draftFromPublished(stored)).toEqual({
      ...stored,
      files: { enabled: true, default_preview: 'a', order: ['a'] },
    });
  });

  test('a new version starts from contains nothing specific to the old one', () => {
    expect(nextVersionContent(stored, ['publication_date', 'version'])).toEqual({
      ...stored,
      metadata: { title: 'Map' },
      files: { enabled: true, default_preview: null, order: [] },
      pids: {},
    });
  });
});

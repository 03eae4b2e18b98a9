import { describe, expect, test } from '@jest/globals';
import { isPublished, statusOf, versionsOf } from './document.ts';
import type { EntityForm } from './entity.ts';

const published = {} as EntityForm;
type Row = [name: string, isPublished: boolean, index: number, latest: number, last: number];

describe('versions and status', () => {
  test.each<[...Row, boolean, boolean, string]>([
    ['a first draft', false, 1, 0, 1, false, true, 'draft'],
    ['a first version', true, 1, 1, 1, true, true, 'published'],
    ['a version whose successor is on its way', true, 1, 1, 2, true, false, 'published'],
    ['that successor', false, 2, 1, 2, false, true, 'new_version_draft'],
    ['a version with a published successor', true, 1, 2, 2, false, false, 'published'],
    ['the successor once published', true, 2, 2, 2, true, true, 'published'],
  ])(
    'of %s',
    (_name, hasPublished, versionIndex, latestIndex, lastIndex, isLatest, isLatestDraft, status) => {
      const entity = { published: hasPublished ? published : null, versionIndex, latestIndex, lastIndex };
      expect([versionsOf(entity, true), versionsOf(entity, false), statusOf(entity)]).toEqual([
        { is_latest: isLatest, is_latest_draft: isLatestDraft, index: versionIndex },
        { is_latest: isLatest, index: versionIndex },
        status,
      ]);
    },
  );

  test('for an edit draft depend on its kind', () => {
    const forms = [false, true].map((isEditDraftPublished) => [
      isPublished({ published: null }, 'draft', isEditDraftPublished),
      isPublished({ published }, 'draft', isEditDraftPublished),
      isPublished({ published }, 'published', isEditDraftPublished),
    ]);
    expect(forms).toEqual([
      [false, false, true],
      [false, true, true],
    ]);
  });
});

import { describe, expect, test } from '@jest/globals';
import { versionFacets } from './manage-published.ts';

const bucket = (key: string, count: number, label: string) => ({
  key,
  doc_count: count,
  label,
  is_selected: false,
});

describe('the facets of a list of versions', () => {
  test('count every access status, the most frequent first, then by name', () => {
    const { access_status: statuses } = versionFacets(4, { restricted: 1, open: 2, embargoed: 1 });
    expect(statuses).toEqual({
      buckets: [
        bucket('open', 2, 'Open'),
        bucket('embargoed', 1, 'Embargoed'),
        bucket('restricted', 1, 'Restricted'),
      ],
      label: 'Access status',
    });
  });

  test('show all versions as published', () => {
    expect(versionFacets(4, { open: 4 })['is_published']).toEqual({
      buckets: [bucket('true', 4, 'Published')],
      label: 'Status',
    });
  });

  test('are there without buckets when there is no version', () => {
    expect(versionFacets(0, {})).toEqual({
      access_status: { buckets: [], label: 'Access status' },
      is_published: { buckets: [], label: 'Status' },
    });
  });
});

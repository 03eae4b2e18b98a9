import { describe, expect, test } from '@jest/globals';
import { RELEASED_VOCABULARIES } from '@kr/metadata';
import { aggregations } from './aggregations.ts';

describe('aggregations', () => {
  test('list every facet of the listing with its labels, in order, with the selection', () => {
    const counted = {
      record_type: [{ value: 'resource', count: 5 }],
      resource_type: [
        { value: 'image', count: 3 },
        { value: 'dataset', count: 2 },
      ],
      'resource_type::image': [{ value: 'image-photo', count: 3 }],
      subject: [{ value: 'toString', count: 1 }],
    };
    const answer = aggregations(
      ['category', 'record_type', 'resource_type', 'subject'],
      counted,
      { resource_type: ['image::image-photo', 'dataset'] },
      RELEASED_VOCABULARIES,
    );
    expect(JSON.stringify(answer)).toBe(
      JSON.stringify({
        category: { buckets: [], label: 'Category' },
        record_type: {
          buckets: [{ key: 'resource', doc_count: 5, label: 'Knowledge Resource', is_selected: false }],
          label: 'Record Type',
        },
        resource_type: {
          buckets: [
            {
              key: 'image',
              doc_count: 3,
              label: 'Image',
              is_selected: false,
              inner: { buckets: [{ key: 'image-photo', doc_count: 3, label: 'Photo', is_selected: true }] },
            },
            { key: 'dataset', doc_count: 2, label: 'Dataset', is_selected: true, inner: { buckets: [] } },
          ],
          label: 'Resource Type',
        },
        subject: {
          buckets: [{ key: 'toString', doc_count: 1, label: 'toString', is_selected: false }],
          label: 'Subjects',
        },
      }),
    );
  });

  test('label values that no vocabulary has with the value itself', () => {
    const counted = {
      is_published: [{ value: 'false', count: 1 }],
      base_type: [{ value: 'constructor', count: 1 }],
    };
    expect(aggregations(['is_published', 'base_type'], counted, {}, RELEASED_VOCABULARIES)).toEqual({
      is_published: {
        buckets: [{ key: 'false', doc_count: 1, label: 'Unpublished', is_selected: false }],
        label: 'Status',
      },
      base_type: {
        buckets: [{ key: 'constructor', doc_count: 1, label: 'constructor', is_selected: false }],
        label: 'Base resource type',
      },
    });
  });
});

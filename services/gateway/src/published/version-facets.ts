const STATUS_LABELS: Readonly<Record<string, string>> = {
  open: 'Open',
  embargoed: 'Embargoed',
  restricted: 'Restricted',
  'metadata-only': 'Metadata-only',
};

interface Bucket {
  key: string;
  doc_count: number;
  label: string;
  is_selected: boolean;
}

/** The `aggregations` of a list of published versions, as those of searches: the most frequent first. */
export function versionFacets(
  total: number,
  accessStatuses: Readonly<Record<string, number>>,
): Record<string, { buckets: Bucket[]; label: string }> {
  const statuses = Object.entries(accessStatuses).map(([key, count]) =>
    bucket(key, count, STATUS_LABELS[key] ?? key),
  );
  return {
    access_status: {
      buckets: statuses.sort((a, b) => b.doc_count - a.doc_count || (a.key < b.key ? -1 : 1)),
      label: 'Access status',
    },
    is_published: { buckets: total === 0 ? [] : [bucket('true', total, 'Published')], label: 'Status' },
  };
}

function bucket(key: string, count: number, label: string): Bucket {
  return { key, doc_count: count, label, is_selected: false };
}

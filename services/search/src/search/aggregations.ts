import type { Vocabularies, VocabularyType } from '@kr/metadata';
import type { EngineAnswer, FacetCount } from '../engine/search-engine.ts';

interface Facet {
  label: string;
  labelOf: (value: string, vocabularies: Vocabularies) => string;
  isNested?: boolean;
}

/** One bucket of the REST answer. */
interface Bucket {
  key: string;
  doc_count: number;
  label: string;
  is_selected: boolean;
  inner?: { buckets: Bucket[] };
}

const FACETS: Readonly<Record<string, Facet>> = {
  category: { label: 'Category', labelOf: oneOf({ open: 'Open', marketplace: 'Commercial' }) },
  record_type: {
    label: 'Record Type',
    labelOf: oneOf({
      package: 'Knowledge Package',
      resource: 'Knowledge Resource',
      'marketplace-item': 'Commercial Item',
    }),
  },
  resource_type: { label: 'Resource Type', labelOf: titleIn('resourcetypes'), isNested: true },
  base_type: { label: 'Base resource type', labelOf: titleIn('resourcetypes') },
  geo_work_programme_activity: { label: 'GEO Work Programme Activities', labelOf: titleIn('geowptypes') },
  target_audience: { label: 'Target Audience', labelOf: titleIn('targetaudiencestypes') },
  engagement_priority: { label: 'Engagement Priorities', labelOf: titleIn('engagementprioritiestypes') },
  subject: { label: 'Subjects', labelOf: (value) => value },
  access_status: {
    label: 'Access status',
    labelOf: oneOf({
      open: 'Open',
      embargoed: 'Embargoed',
      restricted: 'Restricted',
      'metadata-only': 'Metadata-only',
    }),
  },
  is_published: { label: 'Status', labelOf: oneOf({ true: 'Published', false: 'Unpublished' }) },
};

/** The `aggregations` object of the REST answer: every facet of the listing, also those without buckets. */
export function aggregations(
  names: readonly string[],
  counted: EngineAnswer['facets'],
  selected: Readonly<Record<string, readonly string[]>>,
  vocabularies: Vocabularies,
): Record<string, { buckets: Bucket[]; label: string }> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const facet = FACETS[name];
      return facet
        ? [
            [
              name,
              {
                buckets: bucketsOf(name, facet, counted, selected[name] ?? [], vocabularies),
                label: facet.label,
              },
            ],
          ]
        : [];
    }),
  );
}

function bucketsOf(
  name: string,
  { labelOf, isNested = false }: Facet,
  counted: EngineAnswer['facets'],
  selected: readonly string[],
  vocabularies: Vocabularies,
): Bucket[] {
  const bucket = ({ value, count }: FacetCount, selection: string): Bucket => ({
    key: value,
    doc_count: count,
    label: labelOf(value, vocabularies),
    is_selected: selected.includes(selection),
  });
  return (counted[name] ?? []).map((outer) => {
    if (!isNested) return bucket(outer, outer.value);
    const inner = (counted[`${name}::${outer.value}`] ?? []).map((each) =>
      bucket(each, `${outer.value}::${each.value}`),
    );
    return { ...bucket(outer, outer.value), inner: { buckets: inner } };
  });
}

function oneOf(labels: Readonly<Record<string, string>>): (value: string) => string {
  return (value) => (Object.hasOwn(labels, value) ? labels[value] : undefined) ?? value;
}

function titleIn(vocabulary: VocabularyType): Facet['labelOf'] {
  return (value, vocabularies) => vocabularies.lookup(vocabulary, value)?.title['en'] ?? value;
}

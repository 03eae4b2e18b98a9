import type { Scope, Sort } from '../engine/search-engine.ts';

/** The scope and the options of one listing (REST document, section 4.9). */
export interface ListingSettings {
  forms: Scope['forms'];
  /** Whether the caller chooses between all versions and the newest ones; the others always show all. */
  latestByDefault: boolean;
  needsCredential: boolean;
  takesIds: boolean;
  /** Whether it waits until the index has earlier writes, so that callers find their changes. */
  awaitsWrites: boolean;
  sorts: readonly Sort[];
  /** Without a query; with one it is `bestmatch`. */
  defaultSort: Sort;
  /** Names of facets, in the order of the answer. The gateway only documents them, and `aggregations.ts` labels them. */
  facets: readonly string[];
}

/** Facets of listings beyond one package. */
const PUBLIC_FACETS = [
  'category',
  'record_type',
  'resource_type',
  'geo_work_programme_activity',
  'target_audience',
  'engagement_priority',
  'subject',
] as const;

const SORTS: readonly Sort[] = ['bestmatch', 'newest', 'oldest', 'version'];
const SORTS_BY_UPDATE: readonly Sort[] = [...SORTS, 'updated-desc', 'updated-asc'];

const SETTINGS: Readonly<Record<string, ListingSettings>> = {
  LISTING_PUBLISHED: {
    forms: 'published',
    latestByDefault: true,
    needsCredential: false,
    takesIds: false,
    awaitsWrites: false,
    sorts: SORTS,
    defaultSort: 'newest',
    facets: PUBLIC_FACETS,
  },
  LISTING_USER: {
    forms: 'own',
    latestByDefault: true,
    needsCredential: true,
    takesIds: false,
    awaitsWrites: true,
    sorts: SORTS_BY_UPDATE,
    defaultSort: 'updated-desc',
    facets: PUBLIC_FACETS,
  },
  LISTING_PACKAGE_RESOURCES: {
    forms: 'published',
    latestByDefault: false,
    needsCredential: false,
    takesIds: true,
    awaitsWrites: true,
    sorts: SORTS,
    defaultSort: 'newest',
    facets: ['access_status', 'resource_type', 'base_type'],
  },
  LISTING_DRAFT_RESOURCES: {
    forms: 'either',
    latestByDefault: false,
    needsCredential: false,
    takesIds: true,
    awaitsWrites: true,
    sorts: SORTS_BY_UPDATE,
    defaultSort: 'updated-desc',
    facets: ['access_status', 'is_published', 'resource_type', 'base_type'],
  },
  LISTING_CONTEXT_RESOURCES: {
    forms: 'either',
    latestByDefault: false,
    needsCredential: false,
    takesIds: true,
    awaitsWrites: true,
    sorts: SORTS_BY_UPDATE,
    defaultSort: 'updated-desc',
    facets: ['access_status', 'is_published', 'resource_type', 'base_type'],
  },
};

/** Undefined for a listing that there is not. */
export function findListing(name: string): ListingSettings | undefined {
  return Object.hasOwn(SETTINGS, name) ? SETTINGS[name] : undefined;
}

import { expect } from '@jest/globals';

/** The forms in which the document shows an entity. */
export const FORMS = ['draft', 'published', 'edit draft', 'new version'] as const;
export type Form = (typeof FORMS)[number];
export type Collection = 'records' | 'packages';

/** The expected value of a field, by the kind and the form of its entity; undefined if it must be absent. */
type Fields = Readonly<Record<string, (kind: Collection, form: Form) => unknown>>;

const TEXT = expect.any(String);
const BOOLEAN = expect.any(Boolean);
const OBJECT = expect.any(Object);
const LIST = expect.any(Array);
const COUNT = expect.any(Number);
const ID = expect.stringMatching(/^[0-9a-z]+-[0-9a-z]+$/);
const UUID = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const DATE = expect.stringMatching(/^\d{4}-\d\d-\d\d$/);
const PLAIN_INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/);
const OFFSET_INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d$/);
const PUBLIC_OR_RESTRICTED = expect.stringMatching(/^(public|restricted)$/);
const ADDRESS = expect.stringMatching(/^http:\/\/[^/]+\/\S+$/);
const LANGUAGE_MAP = expect.objectContaining({ en: TEXT });
const TERM = expect.objectContaining({ id: TEXT, title: LANGUAGE_MAP });

const listOf = (item: Record<string, unknown>) => expect.arrayOf(expect.objectContaining(item));
const filled = (item: Record<string, unknown>) => expect.arrayContaining([expect.objectContaining(item)]);
const textOrNull = { asymmetricMatch: (value: unknown) => value === null || typeof value === 'string' };

/** `{}` itself, which as a pattern matches every object. */
const NOTHING = {
  asymmetricMatch: (value: unknown) => JSON.stringify(value) === '{}',
};

const isDraft = (form: Form) => form !== 'published';
const ofPackages = (shape: unknown) => (kind: Collection) => (kind === 'packages' ? shape : undefined);

/** Section 2.1. */
export const ENVELOPE: Fields = {
  id: () => ID,
  parent: (kind) => ({
    id: ID,
    access: { owned_by: listOf({ user: expect.anything() }), links: LIST },
    ...(kind === 'packages' ? { type: 'package', communities: OBJECT } : {}),
  }),
  access: () => ({
    record: PUBLIC_OR_RESTRICTED,
    files: PUBLIC_OR_RESTRICTED,
    embargo: { reason: textOrNull, active: BOOLEAN },
    status: expect.stringMatching(/^(metadata-only|restricted|open|embargoed)$/),
  }),
  files: () => expect.objectContaining({ enabled: BOOLEAN, order: expect.arrayOf(TEXT) }),
  metadata: () => OBJECT,
  pids: (kind, form) => {
    if (form === 'draft' || form === 'new version') return NOTHING;
    return kind === 'packages'
      ? { oai: { provider: TEXT, identifier: expect.stringMatching(/^oai:[^:]+:[0-9a-z]+-[0-9a-z]+$/) } }
      : OBJECT;
  },
  revision_id: () => COUNT,
  created: (kind) => (kind === 'packages' ? OFFSET_INSTANT : PLAIN_INSTANT),
  updated: (kind) => (kind === 'packages' ? OFFSET_INSTANT : PLAIN_INSTANT),
  expires_at: (_, form) => (isDraft(form) ? PLAIN_INSTANT : undefined),
  is_published: (kind, form) => form === 'published' || (form === 'edit draft' && kind === 'packages'),
  versions: () => ({ index: COUNT, is_latest: BOOLEAN, is_latest_draft: BOOLEAN }),
  links: (kind, form) => Object.fromEntries(LINKS[kind][linkForm(form)].map((name) => [name, ADDRESS])),

  custom_fields: ofPackages(OBJECT),
  relationship: ofPackages({ resources: LIST }),
  status: (kind, form) => (kind === 'packages' ? PACKAGE_STATUS[form] : undefined),
  assistance_requests: ofPackages(LIST),
  is_draft: (kind, form) => (kind === 'packages' ? isDraft(form) : undefined),
};

const PACKAGE_STATUS: Record<Form, string> = {
  draft: 'draft',
  published: 'published',
  'edit draft': 'published',
  'new version': 'new_version_draft',
};

const CREATORS = filled({
  person_or_org: expect.objectContaining({
    type: 'personal',
    family_name: 'Moreau',
    given_name: 'Lise',
    name: 'Moreau, Lise',
    identifiers: listOf({ scheme: TEXT, identifier: TEXT }),
  }),
  affiliations: filled({ id: TEXT, name: TEXT }),
});

/** Sections 2.2 and 2.3, for metadata in which everything is filled in. */
export const METADATA: Record<Collection, Readonly<Record<string, unknown>>> = {
  records: {
    title: TEXT,
    publication_date: DATE,
    resource_type: { id: 'image-photo', title: LANGUAGE_MAP },
    creators: CREATORS,
  },
  packages: {
    title: TEXT,
    publication_date: DATE,
    publisher: TEXT,
    creators: CREATORS,
    rights: filled({
      id: 'cc-by-4.0',
      title: LANGUAGE_MAP,
      description: LANGUAGE_MAP,
      icon: TEXT,
      props: expect.objectContaining({ scheme: TEXT, url: TEXT }),
    }),
    languages: [TERM],
    resource_type: { id: 'knowledge', title: LANGUAGE_MAP },
  },
};

const RECORD_LINKS = ['latest', 'versions', 'self_html', 'latest_html', 'self', 'files', 'access_links'];
const PACKAGE_LINKS = [
  'self',
  'self_html',
  'self_iiif_manifest',
  'self_iiif_sequence',
  'files',
  'versions',
  'access_links',
  'reserve_doi',
  'context_html',
  'context_resources',
  'context_associate',
  'context_dissociate',
  'resources',
];

/** Section 2.4. */
export const LINKS = {
  records: { draft: [...RECORD_LINKS, 'publish'], published: RECORD_LINKS },
  packages: {
    draft: [
      ...PACKAGE_LINKS,
      'files_import',
      'record',
      'record_html',
      'publish',
      'review',
      'resources_import',
    ],
    published: [...PACKAGE_LINKS, 'latest', 'latest_html', 'draft', 'requests'],
  },
} as const satisfies Record<Collection, Record<'draft' | 'published', readonly string[]>>;

/** Section 2.4: where the links lead whose routes section 4 names. */
export const LEADS_TO: readonly (readonly [kind: Collection, form: Form, name: string, path: string])[] = [
  ...leadsOfDraft('records'),
  ['records', 'draft', 'latest', '/api/records/{id}/versions/latest'],
  ...leadsOfPublished('records'),
  ...leadsOfDraft('packages'),
  ...leadsOfContext('draft'),
  ['packages', 'draft', 'record', '/api/packages/{id}'],
  ['packages', 'draft', 'resources', '/api/packages/{id}/draft/resources'],
  ['packages', 'draft', 'resources_import', '/api/packages/{id}/draft/actions/resources-import'],
  ...leadsOfPublished('packages'),
  ...leadsOfContext('published'),
  ['packages', 'published', 'draft', '/api/packages/{id}/draft'],
];

function leadsOfDraft(kind: Collection) {
  const one = `/api/${kind}/{id}`;
  return [
    [kind, 'draft', 'self', `${one}/draft`],
    [kind, 'draft', 'files', `${one}/draft/files`],
    [kind, 'draft', 'publish', `${one}/draft/actions/publish`],
    [kind, 'draft', 'versions', `${one}/versions`],
    [kind, 'draft', 'access_links', `${one}/access/links`],
  ] as const;
}

function leadsOfPublished(kind: Collection) {
  const one = `/api/${kind}/{id}`;
  return [
    [kind, 'published', 'self', one],
    [kind, 'published', 'files', `${one}/files`],
    [kind, 'published', 'latest', `${one}/versions/latest`],
    [kind, 'published', 'versions', `${one}/versions`],
    [kind, 'published', 'access_links', `${one}/access/links`],
  ] as const;
}

function leadsOfContext(form: Form) {
  return [
    ['packages', form, 'context_resources', '/api/packages/context/{parent-id}/resources'],
    ['packages', form, 'context_associate', '/api/packages/{id}/context/actions/associate'],
    ['packages', form, 'context_dissociate', '/api/packages/{id}/context/actions/dissociate'],
  ] as const;
}

export const linkForm = (form: Form) => (isDraft(form) ? 'draft' : 'published');

const FILE = { key: TEXT, created: PLAIN_INSTANT, updated: PLAIN_INSTANT };
const FILE_ADDRESS = expect.stringMatching(/^(http:\/\/[^/]+)?\/api\/\S+$/);
const PUBLISHED_FILE_LINKS = { content: FILE_ADDRESS, self: FILE_ADDRESS };
const DRAFT_FILE_LINKS = { ...PUBLISHED_FILE_LINKS, commit: FILE_ADDRESS, tus: FILE_ADDRESS };

const COMPLETED_FILE = {
  ...FILE,
  status: 'completed',
  metadata: OBJECT,
  checksum: expect.stringMatching(/^md5:[0-9a-f]{32}$/),
  mimetype: expect.stringMatching(/^[a-z]+\/\S+$/),
  size: COUNT,
  file_id: UUID,
  version_id: UUID,
  bucket_id: UUID,
  storage_class: expect.stringMatching(/^[A-Z]$/),
};

/** Section 2.5, one file, by its state and by the form of its entity. */
export const FILES = {
  pending: { ...FILE, status: 'pending', metadata: null, links: DRAFT_FILE_LINKS },
  completed: { ...COMPLETED_FILE, links: DRAFT_FILE_LINKS },
  published: { ...COMPLETED_FILE, links: PUBLISHED_FILE_LINKS },
};

/** Section 2.5, all files. */
export const FILES_LISTING = {
  enabled: true,
  default_preview: textOrNull,
  order: expect.arrayOf(TEXT),
  entries: listOf(FILE),
  links: { self: FILE_ADDRESS },
};

/** Section 2.6. */
export const ACCESS_LINK = {
  id: UUID,
  permission: expect.stringMatching(/^(view|preview|edit)$/),
  created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$/),
  expires_at: {
    asymmetricMatch: (value: unknown) =>
      value === null || (typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(value)),
  },
  token: expect.stringMatching(/^\S+$/),
};

/** Section 4.9 and similar listings; their hits are checked one by one. */
export const FOUND = { aggregations: OBJECT, hits: { hits: LIST, total: COUNT } };
export const SEARCH_RESULT = { ...FOUND, links: OBJECT, sortBy: TEXT };
export const VERSIONS = { hits: { hits: LIST, total: COUNT }, links: OBJECT, sortBy: 'version' };

/** A whole entity, as an object to match; fields that are to be absent are left to the tests of section 2.1. */
export function entityShape(kind: Collection, form: Form): Record<string, unknown> {
  const fields = Object.entries(ENVELOPE).map(([field, shape]) => [field, shape(kind, form)] as const);
  return Object.fromEntries(fields.filter(([, shape]) => shape !== undefined));
}

import { COLLECTION, type Form, IIIF_PREFIX, type Kind } from '../kind.ts';

export type Links = Record<string, string>;

export interface LinkedEntity {
  kind: Kind;
  form: Form;
  id: string;
  parentId: string;
  /** Empty when there is none. */
  doi: string;
}

/**
 * The absolute links of an entity, without dead ones. Callers with credentials get the others regardless of
 * their permissions. The names are those of the REST document (section 2.4) and of the original platform, in their order.
 */
export function entityLinks(
  entity: LinkedEntity,
  baseUrl: string,
  { isAnonymous = false, hasFiles = true, mayReadFiles = true }: LinkOptions = {},
): Links {
  const links = LINKS[entity.kind][entity.form](addresses(entity, baseUrl));
  const omitted = new Set([
    ...(isAnonymous ? NEED_CREDENTIALS : []),
    ...(mayReadFiles ? [] : NEED_FILES),
    ...(hasFiles ? [] : ['archive']),
  ]);
  return Object.fromEntries(Object.entries(links).filter(([name]) => !omitted.has(name)));
}

export interface LinkOptions {
  isAnonymous?: boolean;
  /** Whether the entity may have files. */
  hasFiles?: boolean;
  mayReadFiles?: boolean;
}

/** Links whose requests always need credentials, so that anonymous readers get none of them. */
const NEED_CREDENTIALS = [
  'draft',
  'access_links',
  'reserve_doi',
  'context_resources',
  'context_associate',
  'context_dissociate',
];

/** Links whose requests need the right to read files. */
const NEED_FILES = ['self_iiif_manifest', 'self_iiif_sequence', 'files', 'archive'];

interface Addresses {
  /** The published entity. */
  entity: string;
  draft: string;
  /** Its page on the site. */
  page: string;
  /** The page where its draft is edited. */
  editPage: string;
  context: string;
  shared: Links;
  doi: Links;
  iiif: Links;
}

const LINKS: Record<Kind, Record<Form, (at: Addresses) => Links>> = {
  record: {
    draft: (at) => ({
      self: at.draft,
      self_html: at.editPage,
      ...at.doi,
      ...at.iiif,
      files: `${at.draft}/files`,
      archive: `${at.draft}/files-archive`,
      record: at.entity,
      record_html: at.page,
      publish: `${at.draft}/actions/publish`,
      review: `${at.draft}/review`,
      latest: `${at.entity}/versions/latest`,
      latest_html: `${at.page}/latest`,
      ...at.shared,
    }),
    published: (at) => ({
      self: at.entity,
      self_html: at.page,
      ...at.doi,
      ...at.iiif,
      files: `${at.entity}/files`,
      archive: `${at.entity}/files-archive`,
      latest: `${at.entity}/versions/latest`,
      latest_html: `${at.page}/latest`,
      draft: at.draft,
      ...at.shared,
    }),
  },
  package: {
    draft: (at) => ({
      self: at.draft,
      self_html: at.editPage,
      ...at.doi,
      ...at.iiif,
      files: `${at.draft}/files`,
      archive: `${at.draft}/files-archive`,
      files_import: `${at.draft}/actions/files-import`,
      record: at.entity,
      record_html: at.page,
      publish: `${at.draft}/actions/publish`,
      review: `${at.draft}/review`,
      ...at.shared,
      ...contextLinks(at),
      resources: `${at.draft}/resources`,
      resources_import: `${at.draft}/actions/resources-import`,
    }),
    published: (at) => ({
      self: at.entity,
      self_html: at.page,
      ...at.doi,
      ...at.iiif,
      files: `${at.entity}/files`,
      archive: `${at.entity}/files-archive`,
      latest: `${at.entity}/versions/latest`,
      latest_html: `${at.page}/latest`,
      draft: at.draft,
      ...at.shared,
      ...contextLinks(at),
      resources: `${at.entity}/resources`,
      requests: `${at.entity}/requests`,
    }),
  },
};

function contextLinks({ entity, page, context }: Addresses): Links {
  return {
    context_html: `${page}/dashboard`,
    context_resources: `${context}/resources`,
    context_associate: `${entity}/context/actions/associate`,
    context_dissociate: `${entity}/context/actions/dissociate`,
  };
}

function addresses({ kind, form, id, parentId, doi }: LinkedEntity, baseUrl: string): Addresses {
  const entity = `${baseUrl}/api/${COLLECTION[kind]}/${id}`;
  const draft = `${entity}/draft`;
  const iiif = `${baseUrl}/api/iiif/${IIIF_PREFIX[kind][form]}:${id}`;
  return {
    entity,
    draft,
    page: `${baseUrl}/${COLLECTION[kind]}/${id}`,
    editPage: kind === 'record' ? `${baseUrl}/uploads/${id}` : `${baseUrl}/uploads/packages/${id}`,
    context: `${baseUrl}/api/packages/context/${parentId}`,
    shared: {
      versions: `${entity}/versions`,
      access_links: `${entity}/access/links`,
      reserve_doi: `${draft}/pids/doi`,
    },
    doi: doiLinks(doi, form, baseUrl),
    iiif: { self_iiif_manifest: `${iiif}/manifest`, self_iiif_sequence: `${iiif}/sequence/default` },
  };
}

// A DOI opens its page here only once the entity is published.
function doiLinks(doi: string, form: Form, baseUrl: string): Links {
  if (doi === '') return {};
  const path = doi.split('/').map(encodeURIComponent).join('/');
  const resolver = { doi: `https://doi.org/${path}` };
  return form === 'published' ? { self_doi: `${baseUrl}/doi/${path}`, ...resolver } : resolver;
}

/** Where an entity's files are, as `filesUrl` of the links below. */
function filesUrl(kind: Kind, form: Form, id: string, baseUrl: string): string {
  const entity = `${baseUrl}/api/${COLLECTION[kind]}/${id}`;
  return form === 'draft' ? `${entity}/draft/files` : `${entity}/files`;
}

/** The links of a file listing. */
export function fileListLinks(kind: Kind, form: Form, id: string, baseUrl: string): Links {
  const self = filesUrl(kind, form, id, baseUrl);
  return { self, archive: `${self}-archive` };
}

/** Value of a `Link` header that leads to the page of a published entity (FAIR Signposting). */
export function pageLink(
  relation: 'collection' | 'describes',
  kind: Kind,
  id: string,
  baseUrl: string,
): string {
  return `<${baseUrl}/${COLLECTION[kind]}/${id}>; rel="${relation}"; type="text/html"`;
}

const IMAGE_EXTENSION = /\.(?:gif|jp2|jpe?g|png|tiff?)$/i;

/** The links of one file; images have those of their IIIF services too. */
export function fileLinks(
  { kind, form, id }: Pick<LinkedEntity, 'kind' | 'form' | 'id'>,
  key: string,
  baseUrl: string,
): Links {
  const name = encodeURIComponent(key);
  const self = `${filesUrl(kind, form, id, baseUrl)}/${name}`;
  const links: Links = { self, content: `${self}/content` };
  if (form === 'draft') Object.assign(links, { commit: `${self}/commit`, tus: `${self}/tus` });
  if (!IMAGE_EXTENSION.test(key)) return links;

  const entity = `${baseUrl}/api/iiif/${IIIF_PREFIX[kind][form]}:${id}`;
  const image = `${entity}:${name}`;
  return {
    ...links,
    iiif_canvas: `${entity}/canvas/${name}`,
    iiif_base: image,
    iiif_info: `${image}/info.json`,
    iiif_api: `${image}/full/full/0/default.png`,
  };
}

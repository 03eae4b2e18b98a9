import { COLLECTION, type Form, IIIF_PREFIX, type Kind } from '../kind.ts';

export type Links = Record<string, string>;

export interface LinkedEntity {
  kind: Kind;
  form: Form;
  id: string;
  parentId: string;
  /** Empty if it has no DOI. */
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
  const links = allLinks(entity, baseUrl);
  const omitted = [
    ...(isAnonymous ? NEED_CREDENTIALS : []),
    ...(mayReadFiles ? [] : NEED_FILES),
    ...(hasFiles ? [] : ['archive']),
  ];
  for (const name of omitted) delete links[name];
  return links;
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

function allLinks({ kind, form, id, parentId, doi }: LinkedEntity, baseUrl: string): Links {
  const isDraft = form === 'draft';
  const isPackage = kind === 'package';
  const published = `${baseUrl}/api/${COLLECTION[kind]}/${id}`;
  const draft = `${published}/draft`;
  const self = isDraft ? draft : published;
  const page = `${baseUrl}/${COLLECTION[kind]}/${id}`;
  const editPage = `${baseUrl}/uploads/${isPackage ? 'packages/' : ''}${id}`;
  const iiif = `${baseUrl}/api/iiif/${IIIF_PREFIX[kind][form]}:${id}`;
  return {
    self,
    self_html: isDraft ? editPage : page,
    ...doiLinks(doi, form, baseUrl),
    self_iiif_manifest: `${iiif}/manifest`,
    self_iiif_sequence: `${iiif}/sequence/default`,
    files: `${self}/files`,
    archive: `${self}/files-archive`,
    ...(isDraft && isPackage && { files_import: `${draft}/actions/files-import` }),
    ...(isDraft && {
      record: published,
      record_html: page,
      publish: `${draft}/actions/publish`,
      review: `${draft}/review`,
    }),
    ...(!(isDraft && isPackage) && {
      latest: `${published}/versions/latest`,
      latest_html: `${page}/latest`,
    }),
    ...(!isDraft && { draft }),
    versions: `${published}/versions`,
    access_links: `${published}/access/links`,
    reserve_doi: `${draft}/pids/doi`,
    ...(isPackage && {
      context_html: `${page}/dashboard`,
      context_resources: `${baseUrl}/api/packages/context/${parentId}/resources`,
      context_associate: `${published}/context/actions/associate`,
      context_dissociate: `${published}/context/actions/dissociate`,
      resources: `${self}/resources`,
      ...(isDraft
        ? { resources_import: `${draft}/actions/resources-import` }
        : { requests: `${published}/requests` }),
    }),
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

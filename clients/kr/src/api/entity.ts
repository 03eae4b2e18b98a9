import { CliError } from '../cli-error.ts';
import type { LinkedService } from '../settings/settings.ts';
import type { ApiClient } from './api-client.ts';
import { ApiError, type FieldError } from './api-error.ts';

export type EntityKind = 'record' | 'package';

/** The members of a resource's or package's document that this client uses. */
export interface Entity {
  id: string;
  is_published: boolean;
  parent: { id: string };
  metadata: { title?: string; publication_date?: string; resource_type?: { id?: string } };
  pids?: { doi?: { identifier: string } };
  access?: { status?: string };
  versions?: { index: number; is_latest: boolean };
  links: Record<string, string | undefined>;
  /** Fields of a draft that were not accepted. */
  errors?: readonly FieldError[];
}

export interface FileEntry {
  key: string;
  status: 'pending' | 'completed';
  size?: number;
  /** `md5:` and the digest, once completed. */
  checksum?: string;
  links: Record<string, string | undefined>;
}

export interface FilesListing {
  enabled: boolean;
  entries?: readonly FileEntry[];
}

export const COLLECTIONS: Record<EntityKind, string> = { record: '/api/records', package: '/api/packages' };

/** A link by name, for entities and file entries alike. @throws CliError when the answer has none */
export function linkOf(of: Pick<Entity, 'links'>, name: string): string {
  const link = of.links[name];
  if (link === undefined) throw new CliError(`the response has no link "${name}"`);
  return link;
}

export function kindOf(entity: Pick<Entity, 'links'>): EntityKind {
  return linkOf(entity, 'self').includes(`${COLLECTIONS.package}/`) ? 'package' : 'record';
}

/** An entity as a person names it. */
export interface Reference {
  id: string;
  /** The kinds that it may be of. */
  kinds: readonly EntityKind[];
  isDraft: boolean;
  /** The rest of a link. */
  link: LinkedService;
}

const ID = /[0-9a-z]{5}-[0-9a-z]{5}(?![0-9a-z-])/g;
/** Links of the API, of pages and of drafts in pages. */
const LINK = /^(.*?)(\/api)?\/(records|packages|uploads)\/([0-9a-z]{5}-[0-9a-z]{5})(\/draft)?(?:\/|$)/;

/** The target of an id, a DOI or a link. @throws CliError when it contains no id */
export function referenceIn(text: string): Reference {
  const url = /^https?:/i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  const [, prefix = '', api, collection, linked, draft] = (url && LINK.exec(url.pathname)) ?? [];
  const id = linked ?? (url?.pathname ?? text).match(ID)?.at(-1);
  if (id === undefined) throw new CliError(`"${text}" has no id in it; ids look like abcde-12345`);
  const kind = api !== undefined && collection === 'records' ? 'record' : 'package';
  return {
    id,
    kinds: api !== undefined && collection !== 'uploads' ? [kind] : ['record', 'package'],
    isDraft: draft !== undefined || collection === 'uploads',
    link: {
      baseUrl: url !== undefined && linked !== undefined ? `${url.origin}${prefix}` : undefined,
      token: url?.searchParams.get('token') || undefined,
    },
  };
}

/** @throws ApiError when there is no such entity, or it may not be read */
export async function findEntity(
  api: ApiClient,
  { id, kinds }: Pick<Reference, 'id' | 'kinds'>,
  form: 'draft' | 'published',
): Promise<Entity> {
  const suffix = form === 'draft' ? '/draft' : '';
  for (const kind of kinds) {
    try {
      return await api.call<Entity>({ method: 'GET', target: `${COLLECTIONS[kind]}/${id}${suffix}` });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
  }
  const advice =
    form === 'draft' ? 'Omit --draft to read the published version.' : 'Use --draft to read a draft.';
  const names = kinds.map((kind) => (kind === 'record' ? 'resource' : 'package')).join(' or ');
  throw new ApiError(
    404,
    `There is no ${form === 'draft' ? 'draft of a ' : 'published '}${names} ${id}. ${advice}`,
  );
}

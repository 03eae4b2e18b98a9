import { Failure } from '../failure.ts';
import type { ApiClient } from './api-client.ts';
import { ApiError, type FieldError } from './api-error.ts';

export type EntityKind = 'record' | 'package';

/** What this client uses of a resource's or package's document. */
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

/** A link by name, for entities and file entries alike. @throws Failure when the answer has none */
export function linkOf(of: Pick<Entity, 'links'>, name: string): string {
  const link = of.links[name];
  if (link === undefined) throw new Failure(`the answer of the service has no link "${name}"`);
  return link;
}

export function kindOf(entity: Pick<Entity, 'links'>): EntityKind {
  return linkOf(entity, 'self').includes(`${COLLECTIONS.package}/`) ? 'package' : 'record';
}

/** The id in what a person pasted: an id, a DOI or a link. @throws Failure when there is none */
export function idIn(text: string): string {
  const found = text.match(/[0-9a-z]{5}-[0-9a-z]{5}(?![0-9a-z-])/g)?.at(-1);
  if (found === undefined) throw new Failure(`"${text}" has no id in it; ids look like abcde-12345`);
  return found;
}

/** A resource or package by its id. @throws ApiError when it is neither, or may not be read */
export async function findEntity(api: ApiClient, id: string, form: 'draft' | 'published'): Promise<Entity> {
  const suffix = form === 'draft' ? '/draft' : '';
  try {
    return await api.call<Entity>({ method: 'GET', target: `${COLLECTIONS.record}/${id}${suffix}` });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  }
  return api.call<Entity>({ method: 'GET', target: `${COLLECTIONS.package}/${id}${suffix}` });
}

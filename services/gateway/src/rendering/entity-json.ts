import type { EntityDocument__Output } from '@kr/contracts';
import { withHint } from '../http/hints.ts';
import type { Face, Kind } from '../kind.ts';
import { entityLinks } from './links.ts';
import { ENTITY_INSTANT, plainInstant } from './timestamp.ts';

export type Json = Record<string, unknown>;

/** The public document of an entity: what its service rendered, with links after `updated` and public instants. */
export function entityJson(document: EntityDocument__Output, kind: Kind, baseUrl: string): Json {
  const { id, parentId, doi } = document;
  const entries: [string, unknown][] = [];
  for (const [key, value] of Object.entries(JSON.parse(document.json.toString()) as Json)) {
    entries.push([key, publicValue(kind, key, value)]);
    if (key === 'updated') {
      entries.push(['links', entityLinks({ kind, face: faceOf(document), id, parentId, doi }, baseUrl)]);
    }
  }
  return Object.fromEntries(entries);
}

function publicValue(kind: Kind, key: string, value: unknown): unknown {
  if (key === 'errors') return (value as Parameters<typeof withHint>[0][]).map(withHint);
  if (typeof value !== 'string') return value;
  if (key === 'created' || key === 'updated') return ENTITY_INSTANT[kind](value);
  return key === 'expires_at' ? plainInstant(value) : value;
}

function faceOf({ form }: EntityDocument__Output): Face {
  return form === 'FORM_DRAFT' ? 'draft' : 'published';
}

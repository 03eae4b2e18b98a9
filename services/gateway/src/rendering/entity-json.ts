import { type AccessLink__Output, type EntityDocument__Output, formOf } from '@kr/contracts';
import type { Vocabularies } from '@kr/metadata';
import { hasUserOrLink } from '../caller.ts';
import type { Call } from '../http/endpoint.ts';
import { withHint } from '../http/hints.ts';
import type { Kind } from '../kind.ts';
import { entityLinks, type LinkOptions } from './links.ts';

/** An instant as it crosses gRPC. */
export interface Timestamp {
  /** Since 1970, as text because it has 64 bits. */
  seconds: string;
  nanos: number;
}

/** `2026-11-21 06:54:43.929200`: instants of resources and of files, and every `expires_at` of a draft. */
export function plainInstant(iso: string): string {
  return iso.replace('T', ' ').replace(/Z$/, '');
}

/** `2026-11-21T06:54:43.929200+00:00`: instants of packages. */
export function offsetInstant(iso: string): string {
  return iso.replace(/Z$/, '+00:00');
}

/** `created` and `updated` of an entity, from ISO 8601 with microseconds and `Z`. */
export const ENTITY_INSTANT = {
  record: plainInstant,
  package: offsetInstant,
} as const satisfies Record<Kind, (iso: string) => string>;

/** ISO 8601 with microseconds and `Z`. */
export function isoInstant({ seconds, nanos }: Timestamp): string {
  const wholeSeconds = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  const micros = Math.floor(nanos / 1000);
  return `${wholeSeconds}.${String(micros).padStart(6, '0')}Z`;
}

/** As `isoInstant`, the fraction left out when it is zero: `2030-01-01T00:00:00Z`. */
export function shortIsoInstant(timestamp: Timestamp): string {
  return isoInstant(timestamp).replace('.000000Z', 'Z');
}

export type Json = Record<string, unknown>;

/** The public document of an entity: what its service rendered, with links after `updated` and public instants. */
export function entityJson(
  document: EntityDocument__Output,
  kind: Kind,
  { baseUrl, principal, vocabularies }: Pick<Call, 'baseUrl' | 'principal' | 'vocabularies'>,
): Json {
  const { id, form, parentId, doi } = document;
  const rendered = JSON.parse(document.json.toString()) as Json;
  const json: Json = {};
  for (const [key, value] of Object.entries(rendered)) {
    json[key] = publicValue(kind, key, value, vocabularies);
    if (key === 'updated') {
      json['links'] = entityLinks(
        { kind, form: formOf(form), id, parentId, doi },
        baseUrl,
        linkOptions(rendered, !hasUserOrLink(principal)),
      );
    }
  }
  return json;
}

/** Anonymous readers of a public document may still not read its files. */
function linkOptions({ access, files }: Json, isAnonymous: boolean): LinkOptions {
  const { status = '' } = (access ?? {}) as { status?: string };
  return {
    isAnonymous,
    hasFiles: (files as { enabled?: boolean } | undefined)?.enabled !== false,
    mayReadFiles: !(isAnonymous && ['restricted', 'embargoed'].includes(status)),
  };
}

function publicValue(kind: Kind, key: string, value: unknown, vocabularies: Vocabularies): unknown {
  if (key === 'errors')
    return (value as Parameters<typeof withHint>[0][]).map((issue) => withHint(issue, vocabularies));
  if (typeof value !== 'string') return value;
  if (key === 'created' || key === 'updated') return ENTITY_INSTANT[kind](value);
  return key === 'expires_at' ? plainInstant(value) : value;
}

/** The public form of an access link (REST document, section 2.6): its two instants are written differently. */
export function accessLinkJson({ id, createdAt, expiresAt, permission, token }: AccessLink__Output): Json {
  return {
    id,
    created_at: createdAt === null ? null : shortIsoInstant(createdAt).replace(/Z$/, ''),
    expires_at: expiresAt === null ? null : offsetInstant(shortIsoInstant(expiresAt)),
    permission,
    token,
  };
}

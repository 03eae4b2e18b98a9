import type { AccessLink__Output } from '@kr/contracts';
import type { Json } from './entity-json.ts';
import { offsetInstant, shortIsoInstant } from './timestamp.ts';

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

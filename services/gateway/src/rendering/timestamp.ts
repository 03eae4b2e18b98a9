import type { Kind } from '../kind.ts';

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

/** `created` and `updated` of an entity, given as ISO 8601 with microseconds and `Z`. */
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

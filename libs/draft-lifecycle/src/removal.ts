import { ServiceError } from '@kr/service-error';
import type { StoredDocument } from './stored-document.ts';

/** Why an entity may be removed; the ids of InvenioRDM's vocabulary of removal reasons, and `takedown-request`. */
export const REMOVAL_REASONS = [
  'copyright',
  'duplicate',
  'misconduct',
  'out-of-scope',
  'personal-data',
  'retracted',
  'spam',
  'takedown-request',
  'test-record',
] as const;

export type RemovalReason = (typeof REMOVAL_REASONS)[number];

/** The stored removal, as shown in its tombstone. */
export interface Removal {
  reason: RemovalReason;
  /** For the public; may be empty. */
  note: string;
  /** The user who removed it. */
  removedBy: string;
  /** RFC 3339, UTC. */
  removedAt: string;
  /** Creators, year and title. */
  citation: string;
}

export function isRemovalReason(text: string): text is RemovalReason {
  return REMOVAL_REASONS.some((reason) => reason === text);
}

/** The answer to every read of a removed entity: 410 with a tombstone, in the shape of InvenioRDM. */
export function removedError({ reason, note, removedBy, removedAt, citation }: Removal): ServiceError {
  return new ServiceError('gone', 'The record has been deleted.', {
    code: 'removed',
    members: {
      tombstone: {
        removal_reason: { id: reason },
        note,
        removed_by: { user: removedBy },
        removal_date: removedAt,
        citation_text: citation,
        is_visible: true,
      },
    },
  });
}

/** Creators, year and title of a document, as far as it has them. */
export function citationOf({ metadata }: StoredDocument): string {
  const creators = Array.isArray(metadata['creators']) ? metadata['creators'] : [];
  const names = creators.flatMap(nameOf).slice(0, 3);
  const more = creators.length > names.length ? ['et al.'] : [];
  const year = /^\d{4}/.exec(String(metadata['publication_date'] ?? ''))?.[0];
  const title = typeof metadata['title'] === 'string' ? metadata['title'] : '';
  return [[...names, ...more].join('; '), year === undefined ? '' : `(${year}).`, title]
    .filter((part) => part !== '')
    .join(' ');
}

function nameOf(creator: unknown): string[] {
  const { person_or_org: person } = (creator ?? {}) as { person_or_org?: unknown };
  const { name, family_name: family, given_name: given } = (person ?? {}) as Record<string, unknown>;
  const full = [family, given].filter((part) => typeof part === 'string' && part !== '').join(', ');
  if (full !== '') return [full];
  return typeof name === 'string' && name !== '' ? [name] : [];
}

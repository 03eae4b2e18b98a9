import type { StoredDocument } from '@kr/draft-lifecycle';
import { effectiveAccess } from '@kr/metadata';

/** The resources of a version for the records service, and the resources that become as restricted as the version. */
export interface Restriction {
  readonly restrictedIds: string[];
  /** The package's `access`; empty when no resource takes it. */
  readonly accessJson: Buffer;
}

/** Only restriction is passed on; a package that becomes public opens nothing (REST behaviour, package access). */
export function restrictionFor(
  { access }: Pick<StoredDocument, 'access'>,
  resourceIds: readonly string[],
  now: Date,
): Restriction {
  const isClosed = effectiveAccess(access, now).record === 'restricted';
  return isClosed && resourceIds.length > 0
    ? { restrictedIds: [...resourceIds], accessJson: Buffer.from(JSON.stringify(access)) }
    : { restrictedIds: [], accessJson: Buffer.alloc(0) };
}

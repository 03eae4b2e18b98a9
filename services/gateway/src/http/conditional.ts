import { ServiceError } from '@kr/service-error';
import { VENDOR_TYPE } from './accept.ts';
import type { Representation } from './endpoint.ts';
import { invalid } from './invalid.ts';

// The text after the revision in an ETag distinguishes representations; writers depend on the revision alone.
const REVISION = /^(?:W\/)?(?:"(\d{1,18})(?:\.[\w.-]{1,64})?"|(\d{1,18}))$/;

/** RFC 9110, section 8.8.3. */
const ENTITY_TAG = /^(?:W\/)?"[^"\s]*"$/;
/** A tag that is not one of ours matches nothing, which is 412 and not a bad request. */
const NO_REVISION = '-1';

/**
 * The revisions of which an If-Match header demands one: each bare, or in a tag, weak or not. `*` and no header demand
 * none.
 *
 * @throws ServiceError `invalid`: neither a revision nor an entity tag
 */
export function parseIfMatch(ifMatch: string | undefined): string[] {
  return ifMatch === undefined || ifMatch.trim() === '*' ? [] : tagsIn(ifMatch).map(revisionOf);
}

function revisionOf(tag: string): string {
  const match = REVISION.exec(tag);
  const revision = match?.[1] ?? match?.[2];
  if (revision === undefined && ENTITY_TAG.test(tag)) return NO_REVISION;
  if (revision === undefined) {
    const form = 'Send If-Match with a revision, such as "4", or with *.';
    throw invalid('if_match', 'Not a valid integer.', form);
  }
  // NOTE: for the services 0 means "any revision", and no entity has a revision below 1.
  return BigInt(revision) === 0n ? NO_REVISION : revision;
}

/** Whether an If-None-Match header names this strong tag (RFC 9110, section 13.1.2: compared weakly). */
export function isKnownTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return tagsIn(ifNoneMatch).some((named) => named === '*' || named.replace(/^W\//, '') === tag);
}

/**
 * For changes: applies `If-None-Match` with revisions or `*` (RFC 9110, section 13.1.2).
 * @throws ServiceError `precondition_failed`, with the present revision
 */
export function assertIfNoneMatch(ifNoneMatch: string, revision: string): void {
  if (isNamed(ifNoneMatch, revision)) {
    throw new ServiceError('precondition_failed', `The record's revision id is ${revision}`, {
      currentRevision: Number(revision),
    });
  }
}

/**
 * For reads: applies `If-Match` with a list of revisions.
 * @throws ServiceError `precondition_failed`, with the present revision
 */
export function assertIfMatch(ifMatch: string | undefined, revision: string): void {
  if (ifMatch === undefined) return;
  if (isNamed(ifMatch, revision)) return;
  const message = `Revision id provided(${ifMatch}) doesn't match record's one(${revision})`;
  throw new ServiceError('precondition_failed', message, { currentRevision: Number(revision) });
}

/** Whether a list of tags has one of this revision, or is `*`. */
function isNamed(tags: string, revision: string): boolean {
  return tagsIn(tags).some((tag) => tag === '*' || REVISION.exec(tag)?.slice(1).includes(revision));
}

function tagsIn(header: string): string[] {
  return header.split(',').map((tag) => tag.trim());
}

/**
 * The strong ETag of one representation: its revision, and after a point the distinction from other representations
 * (RFC 9110, section 8.8.3). Plain JSON has only the revision.
 */
export function entityTag({ revision, variant }: Representation, mediaType: string): string {
  const parts = [revision, variant, mediaType === VENDOR_TYPE ? 'ui' : ''];
  return `"${parts.filter((part) => part !== '').join('.')}"`;
}

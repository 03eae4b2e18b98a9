import type { Actor } from '@kr/caller';
import type { SqlDatabase } from '@kr/database';
import { assertRevision, draftLocked } from '@kr/draft-lifecycle';
import type { PackageSnapshot, PackageVersion } from './package-version.ts';
import type { ParticipantName, Publication } from './publication.ts';
import type { PublicationTimes } from './publication-store.ts';
import {
  insertLocking,
  insertPublication,
  type NewPublication,
  runningPublication,
} from './publication-store.ts';

/** Outcome of a request to publish. */
export type BeginResult =
  /** A new publication, with this process as its owner. */
  | { readonly kind: 'begun'; readonly publication: Publication }
  /** The entity is already being published: concurrent callers get the same answer. */
  | { readonly kind: 'joined'; readonly publicationId: string }
  /** There is no draft any more. */
  | { readonly kind: 'absent' };

export interface PublishOptions {
  readonly requestedBy: string;
  readonly actor: Actor;
  /** The revision that the draft must have; 0 is any. */
  readonly ifRevision: number;
}

export interface BeginDeps {
  readonly database: SqlDatabase;
  readonly times: PublicationTimes;
  now(): Date;
  newId(): string;
  readonly packageVersion: Pick<PackageVersion, 'read'>;
}

/**
 * Begins the publication of a package, in one statement that locks its draft, if it is still at the revision of the
 * snapshot, and inserts the publication.
 */
export async function beginPackage(
  deps: BeginDeps,
  packageId: string,
  options: PublishOptions,
  snapshot?: PackageSnapshot,
): Promise<BeginResult> {
  const draft = snapshot ?? (await deps.packageVersion.read(packageId));
  if (draft === undefined) return { kind: 'absent' };
  assertRevision(options.ifRevision, draft);
  if (draft.lockedBy !== null) return { kind: 'joined', publicationId: draft.lockedBy };
  const { parentId, revision, resourceIds } = draft;
  const begun: NewPublication = {
    ...initialLease(deps),
    id: deps.newId(),
    subject: 'package',
    entityId: packageId,
    packageParentId: parentId,
    resourceIds,
    participants: participantsOf(resourceIds),
    ifRevision: null,
    snapshot: { package: { id: packageId, revision }, resources: resourceIds },
    requestedBy: options.requestedBy,
    actor: options.actor,
  };
  const publication = await insertLocking(deps.database, begun, revision);
  // Undefined: a concurrent request has changed the draft or is publishing it.
  return publication === undefined ? beginPackage(deps, packageId, options) : { kind: 'begun', publication };
}

/** Begins the publication of a resource alone: the records service locks its draft when it is prepared. */
export async function beginRecord(
  deps: BeginDeps,
  recordId: string,
  options: PublishOptions,
): Promise<BeginResult> {
  const publication = await insertPublication(deps.database, {
    ...initialLease(deps),
    id: deps.newId(),
    subject: 'record',
    entityId: recordId,
    packageParentId: null,
    resourceIds: [recordId],
    participants: participantsOf([recordId]),
    ifRevision: options.ifRevision === 0 ? null : options.ifRevision,
    snapshot: { resources: [recordId] },
    requestedBy: options.requestedBy,
    actor: options.actor,
  });
  if (publication !== undefined) return { kind: 'begun', publication };
  const running = await runningPublication(deps.database, recordId);
  // None: the conflicting publication has just been decided.
  if (running === undefined) return beginRecord(deps, recordId, options);
  // Only the records service knows the revision, and it was called with another one.
  if (options.ifRevision !== 0 && options.ifRevision !== running.ifRevision) throw draftLocked();
  return { kind: 'joined', publicationId: running.id };
}

function initialLease({
  now,
  times,
}: BeginDeps): Pick<NewPublication, 'createdAt' | 'leaseUntil' | 'deadline'> {
  const createdAt = now();
  return {
    createdAt,
    leaseUntil: new Date(createdAt.getTime() + times.leaseMs),
    deadline: new Date(createdAt.getTime() + times.deadlineMs),
  };
}

function participantsOf(resourceIds: readonly string[]): ParticipantName[] {
  return resourceIds.length > 0 ? ['files', 'records'] : ['files'];
}

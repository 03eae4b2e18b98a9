import type { SqlDatabase } from '@kr/database';
import { assertRevision } from '@kr/draft-lifecycle';
import { failpoint } from '@kr/failpoint';
import { insertPublication, type NewPublication, runningPublication } from '../store/insert-publication.ts';
import type { Tx } from '../store/prisma.ts';
import type { PublicationTimes } from '../store/publication-store.ts';
import { resourceIdsOf } from '../store/resource-store.ts';
import type { PackageVersion } from './package-version.ts';
import type { Participant, Publication } from './publication.ts';

/** What becomes of a wish to publish. */
export type Begun =
  /** A publication of its own, with this process as its owner. */
  | { readonly kind: 'opened'; readonly publication: Publication }
  /** The entity is being published: whoever comes meanwhile gets the same answer. */
  | { readonly kind: 'joined'; readonly publicationId: string }
  /** There is no draft any more. */
  | { readonly kind: 'absent' };

export interface PublishWish {
  readonly requestedBy: string;
  /** The revision that the draft must have; 0 is any. */
  readonly ifRevision: number;
}

export interface BeginDeps {
  readonly database: SqlDatabase;
  readonly times: PublicationTimes;
  now(): Date;
  newId(): string;
  readonly packageVersion: Pick<PackageVersion, 'lock'>;
}

/** T1 for a package: its draft is locked and the publication exists, in one transaction. */
export function beginPackage(deps: BeginDeps, packageId: string, wish: PublishWish): Promise<Begun> {
  const id = deps.newId();
  return deps.database.$transaction(async (tx): Promise<Begun> => {
    const locked = await deps.packageVersion.lock(tx, packageId, id);
    if (locked === undefined) return { kind: 'absent' };
    assertRevision(wish.ifRevision, locked);
    if (locked.lockedBy !== null) return { kind: 'joined', publicationId: locked.lockedBy };
    const resourceIds = await resourcesToPublish(tx, packageId, locked.isEdit);
    const publication = await insertPublication(tx, {
      ...ownedFrom(deps),
      id,
      subject: 'package',
      entityId: packageId,
      packageParentId: locked.parentId,
      resourceIds,
      participants: participantsOf(resourceIds),
      snapshot: { package: { id: packageId, revision: locked.revision }, resources: resourceIds },
      requestedBy: wish.requestedBy,
    });
    if (publication === undefined)
      throw new Error(`${packageId} is published without its draft being locked`);
    await failpoint('publish.begin.inside');
    return { kind: 'opened', publication };
  });
}

/** What is published with a package version; the resources of a published one were, and stay as they are. */
export async function resourcesToPublish(sql: Tx, packageId: string, isEdit: boolean): Promise<string[]> {
  return isEdit ? [] : resourceIdsOf(sql, packageId);
}

/** T1 for a resource alone: its draft lives elsewhere and is locked when it is prepared. */
export async function beginRecord(deps: BeginDeps, recordId: string, wish: PublishWish): Promise<Begun> {
  const publication = await insertPublication(deps.database, {
    ...ownedFrom(deps),
    id: deps.newId(),
    subject: 'record',
    entityId: recordId,
    packageParentId: null,
    resourceIds: [recordId],
    participants: participantsOf([recordId]),
    snapshot: { resources: [recordId], ...(wish.ifRevision !== 0 && { ifRevision: wish.ifRevision }) },
    requestedBy: wish.requestedBy,
  });
  if (publication !== undefined) return { kind: 'opened', publication };
  const running = await runningPublication(deps.database, recordId);
  // None: the one that was in the way has just been decided.
  return running === undefined
    ? beginRecord(deps, recordId, wish)
    : { kind: 'joined', publicationId: running };
}

function ownedFrom({ now, times }: BeginDeps): Pick<NewPublication, 'createdAt' | 'leaseUntil' | 'deadline'> {
  const createdAt = now();
  return {
    createdAt,
    leaseUntil: new Date(createdAt.getTime() + times.leaseMs),
    deadline: new Date(createdAt.getTime() + times.deadlineMs),
  };
}

function participantsOf(resourceIds: readonly string[]): Participant[] {
  return resourceIds.length > 0 ? ['files', 'records'] : ['files'];
}

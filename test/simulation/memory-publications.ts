import { assertRevision, draftLocked } from '@kr/draft-lifecycle';
import type { AbandonedPublications } from '../../services/packages/src/publish/abandoned-publications.ts';
import type { BeginResult, PublishOptions } from '../../services/packages/src/publish/begin-publication.ts';
import type { PackageSnapshot, PackageVersion } from '../../services/packages/src/publish/package-version.ts';
import type { Publication, Refusal } from '../../services/packages/src/publish/publication.ts';
import type { PublicationTimes } from '../../services/packages/src/publish/publication-store.ts';
import type { PublicationLog } from '../../services/packages/src/publish/publish-ports.ts';
import { OUT_OF_TIME } from '../../services/packages/src/publish/publish-saga.ts';
import { type MemoryConnection, type MemoryTx, Table } from './memory-database.ts';
import type { LifecycleTables } from './memory-lifecycle-store.ts';

export interface PublicationRow extends Publication {
  readonly createdAt: Date;
}

export class PublicationTables {
  readonly publications = new Table<PublicationRow>('publication');
  /** The resources of a package, in order. */
  readonly resources = new Table<readonly string[]>('package_resource');
}

export interface MemoryPublicationsDeps {
  readonly tables: PublicationTables;
  /** Where the packages' own drafts are. */
  readonly lifecycle: LifecycleTables;
  readonly connection: MemoryConnection;
  readonly packageVersion: PackageVersion;
  readonly times: PublicationTimes;
  now(): Date;
  newId(): string;
}

/** The coordinator's state: the initial rows of `publish`, the log of the saga, the decisions. */
export interface Publications {
  readonly beginPackage: (
    packageId: string,
    options: PublishOptions,
    seen?: PackageSnapshot,
  ) => Promise<BeginResult>;
  readonly beginRecord: (recordId: string, options: PublishOptions) => Promise<BeginResult>;
  readonly findOwnCommitted: (entityId: string, requestedBy: string) => Promise<string | undefined>;
  readonly log: PublicationLog;
  readonly decisions: AbandonedPublications;
}

const SHORTEST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

/** The twin of the stores in `services/packages`: the contract tests of both are the same. */
export function memoryPublications(deps: MemoryPublicationsDeps): Publications {
  const { tables, connection, packageVersion, times } = deps;
  const { publications, resources } = tables;
  const { versions, drafts } = deps.lifecycle;
  const later = (now: Date, ms: number) => new Date(now.getTime() + ms);
  const lease = (now: Date) => later(now, times.leaseMs);
  const transaction = connection.$transaction.bind(connection);

  const locked = async (tx: MemoryTx, id: string): Promise<PublicationRow | undefined> => {
    await tx.step();
    await tx.lock(`publication row ${id}`);
    return tx.get(publications, id);
  };
  const put = (tx: MemoryTx, row: PublicationRow): PublicationRow => {
    tx.set(publications, row.id, row);
    return row;
  };
  /** The row that this owner may still decide, else what has become of it. */
  const owned = async (tx: MemoryTx, { id, epoch }: Publication) => {
    const row = await locked(tx, id);
    return { row, isOurs: row?.state === 'PREPARING' && row.epoch === epoch };
  };
  const runningOf = (tx: MemoryTx, entityId: string): PublicationRow | undefined =>
    [...tx.all(publications)].find((one) => one.entityId === entityId && one.state === 'PREPARING');
  const newRow = (id: string, { requestedBy, actor }: Pick<Publication, 'requestedBy' | 'actor'>) => {
    const createdAt = deps.now();
    return {
      id,
      requestedBy,
      ifRevision: null,
      actor,
      state: 'PREPARING',
      epoch: 1,
      createdAt,
      leaseUntil: lease(createdAt),
      deadline: later(createdAt, times.deadlineMs),
      publishedIds: [],
      applied: [],
      decidedAt: null,
      refusal: null,
    } as const;
  };
  const abortRow = async (
    tx: MemoryTx,
    row: PublicationRow,
    refusal: Refusal,
    now: Date,
    leaseUntil: Date,
  ): Promise<PublicationRow> => {
    const aborted = put(tx, { ...row, state: 'ABORTED', refusal, decidedAt: now, leaseUntil });
    if (aborted.subject === 'package') await packageVersion.unlock(tx, aborted);
    return aborted;
  };

  return {
    beginPackage: (packageId, options) => {
      const id = deps.newId();
      return transaction(async (tx): Promise<BeginResult> => {
        await tx.step();
        await tx.lock(`version ${packageId}`);
        const [version, draft] = [tx.get(versions, packageId), tx.get(drafts, packageId)];
        if (version === undefined || draft === undefined) return { kind: 'absent' };
        assertRevision(options.ifRevision, draft);
        if (draft.lockedBy !== null) return { kind: 'joined', publicationId: draft.lockedBy };
        await tx.lock(`draft ${packageId}`);
        tx.set(drafts, packageId, { ...draft, lockedBy: id });
        const resourceIds = version.document === null ? (tx.get(resources, packageId) ?? []) : [];
        const publication = put(tx, {
          ...newRow(id, options),
          subject: 'package',
          entityId: packageId,
          packageParentId: version.parentId,
          resourceIds,
          participants: resourceIds.length > 0 ? ['files', 'records'] : ['files'],
        });
        return { kind: 'begun', publication };
      });
    },

    beginRecord: (recordId, options) =>
      transaction(async (tx): Promise<BeginResult> => {
        await tx.step();
        await tx.lock(`publications of ${recordId}`);
        const running = runningOf(tx, recordId);
        if (running !== undefined) {
          const { ifRevision } = options;
          if (ifRevision !== 0 && ifRevision !== (running.ifRevision ?? 0)) throw draftLocked();
          return { kind: 'joined', publicationId: running.id };
        }
        const publication = put(tx, {
          ...newRow(deps.newId(), options),
          subject: 'record',
          entityId: recordId,
          packageParentId: null,
          resourceIds: [recordId],
          participants: ['files', 'records'],
          ifRevision: options.ifRevision === 0 ? null : options.ifRevision,
        });
        return { kind: 'begun', publication };
      }),

    async findOwnCommitted(entityId, requestedBy) {
      await connection.step();
      const last = [...connection.all(publications)]
        .filter((one) => one.entityId === entityId && isCommitted(one))
        .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime())[0];
      return last?.requestedBy === requestedBy ? last.id : undefined;
    },

    log: {
      renew: (publication, now) =>
        transaction(async (tx) => {
          const { row, isOurs } = await owned(tx, publication);
          if (row === undefined || !isOurs) return { isRenewed: false, publication: row ?? publication };
          const renewed = put(tx, { ...row, epoch: row.epoch + 1, leaseUntil: lease(now) });
          return { isRenewed: true, publication: renewed };
        }),

      commit: (publication, publishedIds, manifests, now) =>
        transaction(async (tx) => {
          const { row, isOurs } = await owned(tx, publication);
          if (row === undefined || !isOurs) return row ?? publication;
          const committed = put(tx, {
            ...row,
            state: 'COMMITTED',
            publishedIds: [...publishedIds],
            decidedAt: now,
            leaseUntil: lease(now),
          });
          if (committed.subject === 'package') await packageVersion.publish(tx, committed, manifests);
          return committed;
        }),

      abort: (publication, refusal, now) =>
        transaction(async (tx) => {
          const { row, isOurs } = await owned(tx, publication);
          if (row === undefined || !isOurs) return row ?? publication;
          return abortRow(tx, row, refusal, now, lease(now));
        }),

      async read(publicationId) {
        await connection.step();
        return connection.get(publications, publicationId);
      },

      finish: (publication) =>
        transaction(async (tx) => {
          const row = await locked(tx, publication.id);
          if (row === undefined || row.state !== publication.state) return;
          const state = row.state === 'COMMITTED' ? 'DONE' : 'ABORT_DONE';
          put(tx, { ...row, state, applied: [...row.participants] });
        }),

      postpone: (publication, applied, now) =>
        transaction(async (tx) => {
          const row = await locked(tx, publication.id);
          if (row === undefined || row.epoch !== publication.epoch) return;
          const undeliveredMs = now.getTime() - (publication.decidedAt ?? now).getTime();
          const pauseMs = Math.min(Math.max(undeliveredMs, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
          put(tx, { ...row, applied: [...applied], leaseUntil: later(now, pauseMs) });
        }),

      check: (publication, manifests) => packageVersion.check(publication, manifests),
    },

    decisions: {
      async readAfterDeadlines(publicationIds, now) {
        await connection.step();
        const found = publicationIds.flatMap((id) => connection.get(publications, id) ?? []);
        return Promise.all(
          found.map((seen) => {
            const isOverdue = seen.state === 'PREPARING' && seen.deadline < now && seen.leaseUntil < now;
            if (!isOverdue) return seen;
            return transaction(async (tx) => {
              const { row, isOurs } = await owned(tx, seen);
              return row === undefined || !isOurs ? (row ?? seen) : abortRow(tx, row, OUT_OF_TIME, now, now);
            });
          }),
        );
      },

      insertTombstones: (publicationIds, now) =>
        transaction(async (tx) => {
          for (const id of publicationIds) {
            if ((await locked(tx, id)) !== undefined) continue;
            put(tx, {
              ...newRow(id, { requestedBy: '', actor: null }),
              subject: 'record',
              entityId: '',
              packageParentId: null,
              state: 'ABORT_DONE',
              leaseUntil: now,
              deadline: now,
              createdAt: now,
              decidedAt: now,
              resourceIds: [],
              participants: [],
            });
          }
        }),

      claim: (limit, now) =>
        transaction(async (tx) => {
          await tx.step();
          const claimed: PublicationRow[] = [];
          const abandoned = [...tx.all(publications)]
            .filter((row) => isUnfinished(row) && row.leaseUntil < now)
            .sort((a, b) => a.leaseUntil.getTime() - b.leaseUntil.getTime());
          for (const { id } of abandoned) {
            if (claimed.length === limit) break;
            const row = tx.tryLock(`publication row ${id}`) ? tx.get(publications, id) : undefined;
            if (row === undefined || !isUnfinished(row) || row.leaseUntil >= now) continue;
            claimed.push(put(tx, { ...row, epoch: row.epoch + 1, leaseUntil: lease(now) }));
          }
          return claimed;
        }),
    },
  };
}

function isCommitted({ state }: Publication): boolean {
  return state === 'COMMITTED' || state === 'DONE';
}

function isUnfinished({ state }: Publication): boolean {
  return state !== 'DONE' && state !== 'ABORT_DONE';
}

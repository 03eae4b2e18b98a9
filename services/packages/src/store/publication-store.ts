import { failpoint } from '@kr/failpoint';
import type { Prisma, Publication as Row } from '../gen/prisma/client.ts';
import type { PackageVersion } from '../publish/package-version.ts';
import type { Publication, Refusal } from '../publish/publication.ts';
import type { PublicationLog } from '../publish/publish-ports.ts';
import { OUT_OF_TIME } from '../publish/publish-saga.ts';
import { type Database, SHORT_TRANSACTION, type Tx } from './prisma.ts';
import { publicationOf } from './publication-row.ts';

export interface PublicationTimes {
  /** How long an owner may go without a sign of life, in milliseconds. */
  readonly leaseMs: number;
  /** How long a publication may stay undecided, in milliseconds. */
  readonly deadlineMs: number;
}

export interface PublicationStoreDeps {
  readonly database: Database;
  readonly packageVersion: PackageVersion;
  readonly times: PublicationTimes;
}

const SHORTEST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

/** The log of the saga on Postgres: every change of a state is a compare-and-set in one transaction. */
export function publicationStore({ database, packageVersion, times }: PublicationStoreDeps): PublicationLog {
  const lease = (now: Date) => new Date(now.getTime() + times.leaseMs);

  const readOr = async (sql: Database | Tx, owned: Publication, changed: Row[]): Promise<Publication> => {
    const row = changed[0] ?? (await sql.publication.findUnique({ where: { id: owned.id } }));
    return row === null ? owned : publicationOf(row);
  };

  return {
    async renew(owned, now) {
      const changed = await database.publication.updateManyAndReturn({
        where: { id: owned.id, state: 'PREPARING', epoch: owned.epoch },
        data: { epoch: owned.epoch + 1, leaseUntil: lease(now) },
      });
      return readOr(database, owned, changed);
    },

    commit(owned, publishedIds, manifests, now) {
      return database.$transaction(async (tx) => {
        const changed = await tx.publication.updateManyAndReturn({
          where: { id: owned.id, state: 'PREPARING', epoch: owned.epoch },
          data: {
            state: 'COMMITTED',
            publishedIds: [...publishedIds],
            decidedAt: now,
            leaseUntil: lease(now),
          },
        });
        const row = await readOr(tx, owned, changed);
        if (changed.length > 0 && row.subject === 'package') {
          await packageVersion.publish(tx, row, manifests);
        }
        await failpoint('publish.commit.inside');
        return row;
      }, SHORT_TRANSACTION);
    },

    abort(owned, refusal, now) {
      return database.$transaction(async (tx) => {
        const changed = await abortPreparing(
          tx,
          { id: owned.id, epoch: owned.epoch },
          refusal,
          now,
          lease(now),
        );
        const row = await readOr(tx, owned, changed);
        if (changed.length > 0 && row.subject === 'package') await packageVersion.unlock(tx, row);
        await failpoint('publish.abort.inside');
        return row;
      }, SHORT_TRANSACTION);
    },

    async read(publicationId) {
      const row = await database.publication.findUnique({ where: { id: publicationId } });
      return row === null ? undefined : publicationOf(row);
    },

    async finish(publication, now) {
      const isCommitted = publication.state === 'COMMITTED';
      await database.publication.updateMany({
        where: { id: publication.id, state: publication.state },
        data: {
          state: isCommitted ? 'DONE' : 'ABORT_DONE',
          applied: [...publication.participants],
          settledAt: now,
        },
      });
    },

    async postpone(publication, applied, now) {
      const undeliveredMs = now.getTime() - (publication.decidedAt ?? now).getTime();
      const pauseMs = Math.min(Math.max(undeliveredMs, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
      await database.publication.updateMany({
        where: { id: publication.id, epoch: publication.epoch },
        data: { applied: [...applied], leaseUntil: new Date(now.getTime() + pauseMs) },
      });
    },

    check: (publication, manifests) => packageVersion.check(publication, manifests),
  };
}

/** The decisions of publications, for those who hold something in their name. */
export interface Decisions {
  /** Every publication asked for, as it is after those that ran out of time were aborted. Unknown ids are left out. */
  settleOverdue(publicationIds: readonly string[], now: Date): Promise<readonly Publication[]>;
  /** Writes ids nobody knows as aborted, so that they can never become anything else; those that came up meanwhile stay. */
  bury(publicationIds: readonly string[], now: Date): Promise<void>;
  /** Takes over what no living owner holds and answers with it, the epoch raised. Two replicas never get the same. */
  claim(limit: number, now: Date): Promise<readonly Publication[]>;
}

export function decisionStore({ database, packageVersion, times }: PublicationStoreDeps): Decisions {
  return {
    async settleOverdue(publicationIds, now) {
      const rows = await database.publication.findMany({ where: { id: { in: [...publicationIds] } } });
      return Promise.all(
        rows.map(async (row) => {
          const isOverdue = row.state === 'PREPARING' && row.deadline < now && row.leaseUntil < now;
          return isOverdue ? abortOverdue(database, packageVersion, row, now) : publicationOf(row);
        }),
      );
    },

    async bury(publicationIds, now) {
      await database.publication.createMany({
        data: publicationIds.map((id) => ({
          id,
          subject: 'record',
          entityId: '',
          state: 'ABORT_DONE',
          epoch: 1,
          leaseUntil: now,
          deadline: now,
          resourceIds: [],
          participants: [],
          snapshot: {},
          requestedBy: '',
          createdAt: now,
          decidedAt: now,
          settledAt: now,
        })),
        skipDuplicates: true,
      });
    },

    async claim(limit, now) {
      const until = new Date(now.getTime() + times.leaseMs);
      const claimed = await database.$queryRaw<{ id: string }[]>`
        update publication set epoch = epoch + 1, lease_until = ${until}
        where id in (
          select id from publication
          where state in ('PREPARING', 'COMMITTED', 'ABORTED') and lease_until < ${now}
          order by lease_until limit ${limit} for update skip locked
        )
        returning id`;
      if (claimed.length === 0) return [];
      await failpoint('publish.claim.after');
      const rows = await database.publication.findMany({
        where: { id: { in: claimed.map(({ id }) => id) } },
      });
      return rows.map(publicationOf);
    },
  };
}

/** Written before it is answered: an answer alone could be overtaken by a commit. */
async function abortOverdue(
  database: Database,
  packageVersion: PackageVersion,
  row: Row,
  now: Date,
): Promise<Publication> {
  return database.$transaction(async (tx) => {
    const [aborted] = await abortPreparing(tx, { id: row.id, epoch: row.epoch }, OUT_OF_TIME, now, now);
    if (aborted === undefined)
      return publicationOf(await tx.publication.findUniqueOrThrow({ where: { id: row.id } }));
    const publication = publicationOf(aborted);
    if (publication.subject === 'package') await packageVersion.unlock(tx, publication);
    return publication;
  }, SHORT_TRANSACTION);
}

function abortPreparing(
  tx: Tx,
  owned: { id: string; epoch: number },
  refusal: Refusal,
  now: Date,
  leaseUntil: Date,
): Promise<Row[]> {
  return tx.publication.updateManyAndReturn({
    where: { ...owned, state: 'PREPARING' },
    data: {
      state: 'ABORTED',
      refusal: refusal as unknown as Prisma.InputJsonObject,
      decidedAt: now,
      leaseUntil,
    },
  });
}

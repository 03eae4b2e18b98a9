import { around, failpoint } from '@kr/failpoint';
import type { Publication } from './publication.ts';
import {
  abortPreparing,
  PUBLICATION_COLUMNS,
  type PublicationStoreDeps,
  readPublications,
} from './publication-store.ts';
import { OUT_OF_TIME } from './publish-saga.ts';

/** Publications without an owner, and the decisions that participants query. */
export interface AbandonedPublications {
  /** The publications of these ids, without unknown ones. Overdue ones without an owner are aborted first. */
  readAfterDeadlines(publicationIds: readonly string[], now: Date): Promise<readonly Publication[]>;
  /** Stores unknown ids as aborted, so that no other decision is possible; ids stored meanwhile stay. */
  insertTombstones(publicationIds: readonly string[], now: Date): Promise<void>;
  /** Takes over publications whose lease has expired, with a higher epoch. Two replicas never get the same. */
  claim(limit: number, now: Date): Promise<readonly Publication[]>;
}

export interface AbandonedPublicationsDeps extends PublicationStoreDeps {
  /** Called for a publication that was aborted because its deadline passed while it had no owner. */
  onExpired(publication: Publication): void;
}

export function abandonedPublications({
  database,
  packageVersion,
  times,
  onExpired,
}: AbandonedPublicationsDeps): AbandonedPublications {
  // Written before the answer: a commit could overtake an answer alone.
  const abortOverdue = (overdue: Publication, now: Date) =>
    database.$transaction(async (tx) => {
      const abort = { refusal: OUT_OF_TIME, now, leaseUntil: now };
      const aborted = await abortPreparing(tx, packageVersion, overdue, abort);
      const row = aborted ?? (await readPublications(tx, [overdue.id]))[0] ?? overdue;
      return { row, isAborted: aborted !== undefined };
    });

  return {
    readAfterDeadlines: around('publish.resolve', async (publicationIds, now) => {
      const publications = await readPublications(database, publicationIds);
      return Promise.all(
        publications.map(async (one) => {
          const isOverdue = one.state === 'PREPARING' && one.deadline < now && one.leaseUntil < now;
          if (!isOverdue) return one;
          const { row, isAborted } = await abortOverdue(one, now);
          if (isAborted) onExpired(row);
          return row;
        }),
      );
    }),

    async insertTombstones(publicationIds, now) {
      await database.$executeRawUnsafe(
        `insert into publication
           (id, subject, entity_id, state, epoch, lease_until, deadline, resource_ids, participants, snapshot,
            requested_by, created_at, decided_at, finished_at)
         select id, 'record', '', 'ABORT_DONE', 1, $2::timestamptz, $2::timestamptz, '{}', '{}', '{}', '',
            $2::timestamptz, $2::timestamptz, $2::timestamptz
         from unnest($1::uuid[]) as id
         on conflict do nothing`,
        publicationIds,
        now.toISOString(),
      );
    },

    async claim(limit, now) {
      const rows = await database.$queryRawUnsafe<Publication[]>(
        `update publication set epoch = epoch + 1, lease_until = $2::timestamptz
         where id in (
           select id from publication
           where state in ('PREPARING', 'COMMITTED', 'ABORTED') and lease_until < $1::timestamptz
           order by lease_until limit $3::int for update skip locked
         )
         returning ${PUBLICATION_COLUMNS}`,
        now.toISOString(),
        new Date(now.getTime() + times.leaseMs).toISOString(),
        limit,
      );
      if (rows.length > 0) await failpoint('publish.claim.after');
      return rows;
    },
  };
}

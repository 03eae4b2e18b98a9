import { until } from '@kr/testbed';
import type { TestSystem } from '@kr/testbed/system';
import { Pool } from 'pg';

/** The publications in the databases, regardless of the API's answers. */
export interface PublicationLedger {
  /** Publications that were opened for any of these entities. */
  opened(entityIds: readonly string[]): Promise<{ state: string; count: number }[]>;
  /** How many publications made this entity visible. */
  publishersOf(entityId: string): Promise<number>;
  /** How many versions share the entity's parent, drafts included. */
  versionsOf(entityId: string): Promise<number>;
  /** How many times the publication of this entity was announced. */
  announcementsOf(entityId: string): Promise<number>;
  /** Waits until every decision was carried out everywhere. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

const OPEN = "select from publication where state not in ('DONE', 'ABORT_DONE') limit 1";

export function publicationLedger({ databaseUrls }: Pick<TestSystem, 'databaseUrls'>): PublicationLedger {
  const packages = new Pool({ connectionString: databaseUrls.packages, max: 2 });
  const records = new Pool({ connectionString: databaseUrls.records, max: 2 });
  const sum = async (pools: readonly Pool[], query: string, entityId: string): Promise<number> => {
    const counts = await Promise.all(
      pools.map(async (pool) => {
        const { rows } = await pool.query<{ count: number }>(query, [entityId]);
        return rows[0]?.count ?? 0;
      }),
    );
    return counts.reduce((total, count) => total + count, 0);
  };
  return {
    opened: async (entityIds) => {
      const query = `select state, count(*)::int as count from publication where entity_id = any($1) group by state`;
      return (await packages.query<{ state: string; count: number }>(query, [entityIds])).rows;
    },
    publishersOf: (id) =>
      sum([packages], 'select count(*)::int as count from publication where $1 = any(published_ids)', id),
    versionsOf: (id) =>
      sum(
        [packages, records],
        `select count(*)::int as count from version
         where parent_id = (select parent_id from version where id = $1)`,
        id,
      ),
    announcementsOf: (id) =>
      sum(
        [packages, records],
        `select count(*)::int as count from outbox where aggregate_id = $1 and subject like '%.published'`,
        id,
      ),
    quiet: async () => {
      await until(async () => (await packages.query(OPEN)).rowCount === 0, {
        what: 'the end of every publication',
      });
    },
    close: async () => {
      await Promise.all([packages.end(), records.end()]);
    },
  };
}

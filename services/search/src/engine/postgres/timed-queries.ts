import type pg from 'pg';
import type { Deadline } from '../deadline.ts';
import { searchTimeout } from '../search-engine.ts';

/** Runs statements one after the other. */
export interface TimedQueries {
  query<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<{ rows: Row[] }>;
}

export interface TimedQueriesDeps {
  pool: Pick<pg.Pool, 'query' | 'connect'>;
  /** The `statement_timeout` of its connections. */
  poolTimeoutMs: number;
}

/** When less of the time is left, a statement gets a separate timeout, which takes two more round trips. */
const NEARLY_ALL = 0.9;

/**
 * Statements that share one deadline.
 *
 * @throws ServiceError `unavailable` (`search_timeout`) when no time is left; an error of Postgres when a statement
 *   takes longer
 */
export function timedQueries({ pool, poolTimeoutMs }: TimedQueriesDeps, deadline: Deadline): TimedQueries {
  return {
    async query(text, values) {
      const leftMs = deadline.leftMs();
      if (leftMs === 0) throw searchTimeout();
      if (leftMs >= NEARLY_ALL * poolTimeoutMs) return pool.query(text, values);
      const client = await pool.connect();
      try {
        await client.query(`BEGIN; SET LOCAL statement_timeout = ${leftMs}`);
        const { rows } = await client.query(text, values);
        await client.query('COMMIT');
        client.release();
        return { rows };
      } catch (error) {
        await client.query('ROLLBACK').then(
          () => client.release(),
          () => client.release(true),
        );
        throw error;
      }
    },
  };
}

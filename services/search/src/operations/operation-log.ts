import type pg from 'pg';

export interface LoggedOperation {
  startedAt: Date;
  /** Undefined while it is running. */
  endedAt: Date | undefined;
  report: Readonly<Record<string, unknown>>;
}

export type OperationName = 'reindex' | 'drift';

/** The latest operations on the whole index: one entry for each kind. */
export interface OperationLog {
  read(name: OperationName): Promise<LoggedOperation | undefined>;
  /** Opens an entry. False when one is open. */
  open(name: OperationName, report: object): Promise<boolean>;
  /** Changes the open entry. */
  note(name: OperationName, report: object): Promise<void>;
  close(name: OperationName): Promise<void>;
  /** Replaces the entry by one that is over. */
  enter(name: OperationName, entry: { startedAt: Date; endedAt: Date; report: object }): Promise<void>;
}

export function operationLog(pool: Pick<pg.Pool, 'query'>): OperationLog {
  return {
    read: async (name) => {
      const { rows } = await pool.query<{ started_at: Date; ended_at: Date | null; report: object }>(
        'SELECT started_at, ended_at, report FROM index_operation WHERE name = $1',
        [name],
      );
      const [row] = rows;
      if (row === undefined) return undefined;
      return { startedAt: row.started_at, endedAt: row.ended_at ?? undefined, report: { ...row.report } };
    },
    open: async (name, report) => {
      const { rowCount } = await pool.query(
        `INSERT INTO index_operation (name, started_at, report) VALUES ($1, now(), $2)
         ON CONFLICT (name) DO UPDATE SET started_at = excluded.started_at, ended_at = NULL, report = excluded.report
         WHERE index_operation.ended_at IS NOT NULL`,
        [name, report],
      );
      return rowCount === 1;
    },
    note: async (name, report) => {
      await pool.query(
        'UPDATE index_operation SET report = report || $2::jsonb WHERE name = $1 AND ended_at IS NULL',
        [name, JSON.stringify(report)],
      );
    },
    close: async (name) => {
      await pool.query('UPDATE index_operation SET ended_at = now() WHERE name = $1 AND ended_at IS NULL', [
        name,
      ]);
    },
    enter: async (name, { startedAt, endedAt, report }) => {
      await pool.query(
        `INSERT INTO index_operation (name, started_at, ended_at, report) VALUES ($1, $2, $3, $4)
         ON CONFLICT (name) DO UPDATE
           SET started_at = excluded.started_at, ended_at = excluded.ended_at, report = excluded.report`,
        [name, startedAt, endedAt, report],
      );
    },
  };
}

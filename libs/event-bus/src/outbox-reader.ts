import { failpoint } from '@kr/failpoint';
import type { Client } from 'pg';

/** One event of the outbox, as the database holds it. */
export interface OutboxRow {
  id: string;
  event_id: string;
  aggregate_id: string;
  revision: string;
  subject: string;
  payload: Buffer;
  /** W3C trace context. */
  headers: Readonly<Record<string, string>>;
  created_at: Date;
}

const UNPUBLISHED = {
  name: 'unpublished',
  text: `select id, event_id, aggregate_id, revision, subject, payload, headers, created_at
         from outbox where published_at is null order by id limit $1`,
};
const MARK = {
  name: 'mark-published',
  text: 'update outbox set published_at = clock_timestamp() where id = any($1::bigint[])',
};

// One statement, so that a crash cannot happen in between; the first stream finds no row and resends nothing.
const NOTE_STREAM = `
  with before as (select created from outbox_stream),
  noted as (
    insert into outbox_stream (is_only, created) values (true, $1)
    on conflict (is_only) do update set created = excluded.created where outbox_stream.created <> excluded.created
    returning 1)
  update outbox set published_at = null
  where published_at is not null and exists (select from before where created <> $1) and exists (select from noted)`;

const DELETE_BATCH = 5_000;
// Selects by oldest id rather than oldest date, which needs no additional index on every write.
const DELETE_PUBLISHED = `
  delete from outbox where id = any(array(
    select id from (select id, published_at from outbox order by id limit ${DELETE_BATCH}) as oldest
    where published_at < now() - interval '7 days'))`;

export type OutboxReader = ReturnType<typeof createOutboxReader>;

/** Queries of the relay, on the one session that has its lock. All reject when the session is lost. */
export function createOutboxReader(client: Client) {
  return {
    /** Takes the lock of the active relay, which the end of the session releases; false while another session has it. */
    tryToLead: async (): Promise<boolean> => {
      const { rows } = await client.query<{ leads: boolean }>(
        `select pg_try_advisory_lock(hashtextextended('event_bus.relay', 0)) as leads`,
      );
      return rows[0]?.leads === true;
    },
    /** Prevents the database from ending the session as idle. */
    heartbeat: async (): Promise<void> => void (await client.query('select')),
    /** The oldest unpublished events, by id: of one entity they are in commit order. */
    unpublished: async (limit: number): Promise<OutboxRow[]> =>
      (await client.query<OutboxRow>({ ...UNPUBLISHED, values: [limit] })).rows,
    markPublished: async (ids: readonly string[]): Promise<void> => {
      if (ids.length === 0) return;
      await failpoint('outbox.mark.before');
      await client.query({ ...MARK, values: [ids] });
      await failpoint('outbox.mark.after');
    },
    /**
     * Stores the identity of the stream. When it differs from the stored one, all events that were sent to the lost stream
     * and still exist become unpublished again; returns their number.
     */
    noteStream: async (created: string): Promise<number> => {
      // Other commits of the session may be lost in a crash of the database; this one may not.
      await client.query('begin; set local synchronous_commit to on');
      const { rowCount } = await client.query(NOTE_STREAM, [created]);
      await client.query('commit');
      return rowCount ?? 0;
    },
    /** Deletes published events after a week, in short statements. */
    deletePublished: async (signal: AbortSignal): Promise<void> => {
      let deleted = DELETE_BATCH;
      while (deleted === DELETE_BATCH && !signal.aborted)
        deleted = (await client.query(DELETE_PUBLISHED)).rowCount ?? 0;
    },
  };
}

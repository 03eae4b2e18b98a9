import { counter, type Logger, observeGauges } from '@kr/telemetry';
import type { Client } from 'pg';
import type { OutboxRow } from './outbox-reader.ts';

const METER = '@kr/event-bus';

const GAUGES = {
  unsent: {
    name: 'outbox_unsent_events',
    description: 'Events that are not in the stream yet, up to 100000.',
  },
  oldest: {
    name: 'outbox_oldest_unsent_seconds',
    description: 'Age of the oldest event that is not in the stream; 0 if all events are.',
    unit: 's',
  },
  bytes: {
    name: 'outbox_bytes',
    description: 'Size of the outbox table, which stores sent events for seven days.',
    unit: 'By',
  },
  dead: {
    name: 'event_dead_letters',
    description: 'Events that a consumer failed to handle and stored as dead letters.',
  },
} as const;

/** One statement, because the session also sends. */
const MEASURE = `
  select (select count(*)::int from (select from outbox where published_at is null limit 100000) as unsent) as unsent,
         (select extract(epoch from clock_timestamp() - created_at)::float8
          from outbox where published_at is null order by id limit 1) as oldest,
         pg_total_relation_size('outbox')::float8 as bytes,
         (select coalesce(jsonb_object_agg(consumer, dead), '{}')
          from (select consumer, count(*) as dead from dead_letter group by consumer) as failed) as dead`;

interface Measured {
  unsent: number;
  oldest: number | null;
  bytes: number;
  dead: Record<string, number>;
}

export type OutboxObserver = ReturnType<typeof observeOutbox>;

/**
 * Counts the events that a relay sends, and measures the unsent ones of the outbox through its session; there is no value
 * while that is lost.
 */
export function observeOutbox(session: () => Client | undefined, logger: Logger) {
  const sent = counter(METER, { name: 'events_sent', description: 'Events sent to the stream.' }, []);
  const failed = counter(
    METER,
    { name: 'event_sends_failed', description: 'Failed attempts to send an event to the stream.' },
    [{}],
  );
  const gauges = observeGauges({
    meter: METER,
    gauges: GAUGES,
    onFailed: (err) => logger.debug({ err }, 'the outbox could not be read'),
    read: async () => {
      const database = session();
      if (database === undefined) return [];
      const [row] = (await database.query<Measured>(MEASURE)).rows;
      if (row === undefined) return [];
      const dead = Object.entries(row.dead).map(([consumer, value]) => ({ value, attributes: { consumer } }));
      return [
        { of: 'unsent', value: row.unsent },
        { of: 'oldest', value: Math.max(0, row.oldest ?? 0) },
        { of: 'bytes', value: row.bytes },
        ...dead.map((reading) => ({ of: 'dead' as const, ...reading })),
      ];
    },
  });
  return {
    count: (rows: readonly OutboxRow[], published: readonly string[]) => {
      const ids = new Set(published);
      for (const { id, subject } of rows) {
        if (ids.has(id)) sent({ subject });
        else failed();
      }
    },
    stop: gauges.stop,
  };
}

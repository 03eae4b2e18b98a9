import pg from 'pg';
import { durations, observeGauges, type Record } from './measures.ts';
import { describeStatement } from './statement-name.ts';
import { beginSpan, type EndSpan, isRecording } from './traces.ts';

type Query = (this: pg.Client, ...args: unknown[]) => unknown;
type Connect = (this: pg.Pool, ...args: unknown[]) => unknown;

const METER = '@kr/telemetry';

const POOL_GAUGES = {
  count: { name: 'db_client_connection_count', description: 'Connections to the database by state.' },
  max: { name: 'db_client_connection_max', description: 'Limit of connections to the database.' },
  pending: {
    name: 'db_client_connection_pending_requests',
    description: 'Requests that wait for a connection to the database.',
  },
} as const;

/**
 * Measures every statement of every connection to Postgres, shows it in the trace of its caller, and counts the connections
 * of all pools. Unless durations are measured, a statement outside a recorded trace goes straight to the driver.
 */
export function observePostgres({ isMeasured }: { isMeasured: boolean }): void {
  const client = pg.Client.prototype as unknown as { query: Query };
  const { query } = client;
  const record = durations(METER, {
    name: 'db_client_operation_duration_seconds',
    description: 'Statements, from sending to answer.',
    of: 'answers',
  });
  client.query = function observedQuery(...args) {
    const text = textOf(args[0]);
    if (text === undefined || !(isMeasured || isRecording())) return query.apply(this, args);
    const end = beginStatement(record, text, this.database ?? '');
    const callback = args.at(-1);
    if (typeof callback !== 'function') {
      const result = query.apply(this, args) as Promise<unknown>;
      result.then(() => end(), end);
      return result;
    }
    const observed = (error: unknown, ...rest: unknown[]): void => {
      end(error);
      callback(error, ...rest);
    };
    return query.apply(this, [...args.slice(0, -1), observed]);
  };
  observePools();
}

/** The driver takes a text, an object with one, or an object that sends its statement itself. */
function textOf(sent: unknown): string | undefined {
  if (typeof sent === 'string') return sent;
  if (typeof sent !== 'object' || sent === null || 'submit' in sent || !('text' in sent)) return undefined;
  return typeof sent.text === 'string' ? sent.text : undefined;
}

function beginStatement(record: Record, text: string, database: string): EndSpan {
  const started = performance.now();
  const { name, operation } = describeStatement(text);
  const attributes = { 'db.system.name': 'postgresql', 'db.namespace': database, 'db.query.text': text };
  const end = isRecording() ? beginSpan(name, attributes) : undefined;
  return (error) => {
    const attributes = { db_operation_name: operation, error_type: errorType(error) };
    record((performance.now() - started) / 1_000, attributes);
    end?.(error);
  };
}

/** The SQLSTATE or system error code; empty, which Prometheus treats as no label, without an error. */
function errorType(error: unknown): string {
  if (error === undefined || error === null) return '';
  return typeof error === 'object' && 'code' in error ? String(error.code) : 'error';
}

/** A pool is registered with its first connection and removed with its last. */
function observePools(): void {
  const pools = new Set<pg.Pool>();
  const prototype = pg.Pool.prototype as unknown as { connect: Connect };
  const { connect } = prototype;
  prototype.connect = function observedConnect(...args) {
    pools.add(this);
    return connect.apply(this, args);
  };
  observeGauges({
    meter: METER,
    gauges: POOL_GAUGES,
    read: () => {
      for (const pool of pools) if (pool.ended) pools.delete(pool);
      const sum = (count: (pool: pg.Pool) => number) =>
        [...pools].reduce((total, pool) => total + count(pool), 0);
      const idle = sum((pool) => pool.idleCount);
      const used = sum((pool) => pool.totalCount) - idle;
      return [
        { of: 'count', value: used, attributes: { db_client_connection_state: 'used' } },
        { of: 'count', value: idle, attributes: { db_client_connection_state: 'idle' } },
        { of: 'max', value: sum((pool) => pool.options.max) },
        { of: 'pending', value: sum((pool) => pool.waitingCount) },
      ];
    },
  });
}

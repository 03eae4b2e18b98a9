import pg from 'pg';
import { durations, observeGauges } from './measures.ts';
import { beginSpan, type EndSpan, isRecording } from './traces.ts';

/** Undefined if there is no receiver for these statements. */
type Begin = (client: pg.Client, text: string) => EndSpan | undefined;
type Query = (this: pg.Client, ...args: unknown[]) => unknown;
type Connect = (this: pg.Pool, ...args: unknown[]) => unknown;

const METER = '@kr/telemetry';

const POOL_GAUGES = {
  connections: {
    name: 'db_pool_connections',
    description: 'Connections to the database that are there, by whether somebody has them.',
  },
  most: {
    name: 'db_pool_connections_max',
    description: 'The most connections to the database that there may be.',
  },
  waiting: { name: 'db_pool_waiting', description: 'How many wait for a connection to the database.' },
} as const;

/**
 * Times every statement of every connection to Postgres, shows it in the trace of its caller, and counts the connections of
 * all pools. Unless durations are measured, a statement that is in no recorded trace goes straight to the driver.
 */
export function observePostgres({ isMeasured }: { isMeasured: boolean }): void {
  const record = durations(METER, {
    name: 'db_client_operation_duration_seconds',
    description: 'Statements, from sending to answer.',
    of: 'answers',
  });
  const begin: Begin = (client, text) => {
    const isShown = isRecording();
    if (!isShown && !isMeasured) return undefined;
    const started = performance.now();
    const { name, operation } = describe(text);
    const end = isShown
      ? beginSpan(name, {
          'db.system.name': 'postgresql',
          'db.namespace': client.database ?? '',
          'db.query.text': text,
        })
      : undefined;
    return (error) => {
      const outcome = error === undefined || error === null ? 'ok' : 'error';
      record((performance.now() - started) / 1_000, { operation, outcome });
      end?.(error);
    };
  };
  const client = pg.Client.prototype as unknown as { query: Query };
  client.query = observed(client.query, begin);
  observePools();
}

/** The driver's `query` takes a text or an object with one, and calls back or returns a promise. */
function observed(query: Query, begin: Begin): Query {
  return function observedQuery(...args) {
    const [first] = args;
    const text = textOf(first);
    const end = text === undefined ? undefined : begin(this, text);
    if (end === undefined) return query.apply(this, args);
    const callback = args.at(-1);
    if (typeof callback === 'function') {
      const told = (error: unknown, ...rest: unknown[]): void => {
        end(error);
        callback(error, ...rest);
      };
      return query.apply(this, [...args.slice(0, -1), told]);
    }
    const answer = query.apply(this, args);
    if (!(answer instanceof Promise))
      throw new Error('the driver answers neither by a callback nor by a promise');
    return answer.then(
      (result) => {
        end();
        return result;
      },
      (error: unknown) => {
        end(error);
        throw error;
      },
    );
  };
}

function textOf(sent: unknown): string | undefined {
  if (typeof sent === 'string') return sent;
  if (typeof sent !== 'object' || sent === null || 'submit' in sent || !('text' in sent)) return undefined;
  return typeof sent.text === 'string' ? sent.text : undefined;
}

interface Described {
  /** Such as `update publication`. */
  name: string;
  operation: 'select' | 'insert' | 'update' | 'delete' | 'transaction' | 'other';
}

const TRANSACTION = /^\s*(begin|commit|rollback|savepoint|release|set)\b/i;
const CHANGE =
  /\b(insert)\s+into\s+([\w".]+)|\b(update)\s+(?:only\s+)?([\w".]+)(?:\s+(?:as\s+)?\w+)?\s+set\b|\b(delete)\s+from\s+([\w".]+)/i;
const READ = /^\s*(?:select|with)\b(?:[\s\S]*?\bfrom\s+(?:only\s+)?([\w".]+))?/i;

/** Statements are few and written down, but lists in them may be of any length. */
const MOST_KNOWN = 1_000;
const known = new Map<string, Described>();

/** The operation and table of a statement. */
export function describe(text: string): Described {
  const found = known.get(text) ?? describeText(text);
  if (known.size < MOST_KNOWN) known.set(text, found);
  return found;
}

function describeText(text: string): Described {
  const [, control] = TRANSACTION.exec(text) ?? [];
  if (control !== undefined) return { name: control.toLowerCase(), operation: 'transaction' };
  const change = CHANGE.exec(text)
    ?.slice(1)
    .filter((part) => part !== undefined);
  if (change !== undefined) {
    const operation = (change[0] ?? '').toLowerCase() as Described['operation'];
    return { name: `${operation} ${tableOf(change[1])}`, operation };
  }
  const read = READ.exec(text);
  if (read === null) return { name: 'statement', operation: 'other' };
  return { name: `select ${tableOf(read[1])}`.trimEnd(), operation: 'select' };
}

/** Without its schema and quotes. */
function tableOf(name = ''): string {
  return name.slice(name.lastIndexOf('.') + 1).replaceAll('"', '');
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
        { of: 'connections', value: used, attributes: { state: 'used' } },
        { of: 'connections', value: idle, attributes: { state: 'idle' } },
        { of: 'most', value: sum((pool) => pool.options.max) },
        { of: 'waiting', value: sum((pool) => pool.waitingCount) },
      ];
    },
  });
}

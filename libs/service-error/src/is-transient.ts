/** SQLSTATE: connection, transaction rollback, insufficient resources, operator intervention, lock not available. */
const TRANSIENT_SQLSTATE = /^((08|40|53|57)[0-9A-Z]{3}|55P03)$/;
const TRANSIENT_CODES = new Set([
  // Node: the other side cannot be reached.
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  // Prisma: cannot reach, timed out, closed, pool exhausted, transaction expired, write conflict.
  'P1001',
  'P1002',
  'P1008',
  'P1017',
  'P2024',
  'P2028',
  'P2034',
]);
/** Errors without a code of the Postgres client (pg, pg-pool) for lost, unavailable or silent connections. */
const TRANSIENT_TEXTS =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout)/;
/** Ours, and those of Prisma's database adapters. */
const TRANSIENT_KINDS = new Set([
  'unavailable',
  'rate_limited',
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TooManyConnections',
  'TransactionWriteConflict',
]);

/**
 * Whether an error means that a dependency is temporarily unavailable or busy, so that a retry may succeed.
 * Follows the chain of causes.
 */
export function isTransient(thrown: unknown): boolean {
  for (let error = thrown, depth = 0; typeof error === 'object' && error !== null && depth < 8; depth += 1) {
    const { kind, code, originalCode, message } = error as Record<string, unknown>;
    if (typeof kind === 'string' && TRANSIENT_KINDS.has(kind)) return true;
    if (code === undefined && typeof message === 'string' && TRANSIENT_TEXTS.test(message)) return true;
    for (const word of [code, originalCode]) {
      if (typeof word === 'string' && (TRANSIENT_CODES.has(word) || TRANSIENT_SQLSTATE.test(word)))
        return true;
    }
    error = causeOf(error);
  }
  return false;
}

/** Prisma attaches the error of its database adapter to its own. */
function causeOf(error: object): unknown {
  const { cause, meta } = error as { cause?: unknown; meta?: { driverAdapterError?: unknown } | null };
  return cause ?? meta?.driverAdapterError;
}

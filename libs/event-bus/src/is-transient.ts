/** SQLSTATE classes: connection, transaction rollback, insufficient resources, operator intervention. */
const TRANSIENT_SQLSTATE = /^(08|40|53|57)[0-9A-Z]{3}$/;
const TRANSIENT_CODES = new Set([
  // Node: the other side cannot be reached.
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  // Prisma: cannot reach, timed out, closed, pool exhausted, write conflict.
  'P1001',
  'P1002',
  'P1008',
  'P1017',
  'P2024',
  'P2034',
]);
const TRANSIENT_KINDS = new Set(['unavailable', 'rate_limited']);

/**
 * Whether what a handler threw says that something it needs is away for the moment, so that the event itself is not
 * to blame. Looks along the chain of causes.
 */
export function isTransient(thrown: unknown): boolean {
  for (let error = thrown, depth = 0; typeof error === 'object' && error !== null && depth < 8; depth += 1) {
    const { kind, code, originalCode } = error as Record<string, unknown>;
    if (typeof kind === 'string' && TRANSIENT_KINDS.has(kind)) return true;
    for (const word of [code, originalCode]) {
      if (typeof word === 'string' && (TRANSIENT_CODES.has(word) || TRANSIENT_SQLSTATE.test(word)))
        return true;
    }
    error = (error as { cause?: unknown }).cause;
  }
  return false;
}

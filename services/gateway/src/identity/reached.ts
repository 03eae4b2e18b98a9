import { ServiceError } from '@kr/service-error';

/** Prisma's codes for a database that cannot be reached, does not answer in time, or has no connection free. */
const UNREACHED = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024']);

/** What a query gives. @throws ServiceError `unavailable`: the database is not reached */
export async function reached<Value>(query: Promise<Value>): Promise<Value> {
  try {
    return await query;
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && UNREACHED.has(String(thrown.code)))) throw thrown;
    throw new ServiceError('unavailable', 'The service is not available at the moment.', {
      retryAfterMs: 1_000,
      cause: thrown,
    });
  }
}

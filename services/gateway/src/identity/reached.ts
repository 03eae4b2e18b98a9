import { isTransient, ServiceError } from '@kr/service-error';

/** What a query gives. @throws ServiceError `unavailable`: the database is not reached, or not in time */
export async function reached<Value>(query: Promise<Value>): Promise<Value> {
  try {
    return await query;
  } catch (thrown) {
    if (thrown instanceof ServiceError || !isTransient(thrown)) throw thrown;
    throw new ServiceError('unavailable', 'The service is not available at the moment.', {
      retryAfterMs: 1_000,
      cause: thrown,
    });
  }
}

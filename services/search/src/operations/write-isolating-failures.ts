import { isTransient } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { IndexedEntity } from '../documents/entity.ts';

/** If the engine rejects more than this and accepts none, their content is not the reason. */
const MAX_REJECTED = 10;

/**
 * Writes forms together, or one by one when the engine rejects them, so that valid ones are written.
 * @returns the errors of the rejected ones
 * @throws Error on transient failures, or when many were rejected and none was accepted
 */
export async function writeIsolatingFailures(
  entities: readonly IndexedEntity[],
  write: (entities: readonly IndexedEntity[]) => Promise<void>,
  logger: Logger,
): Promise<Error[]> {
  const attempt = async (some: readonly IndexedEntity[]): Promise<Error | undefined> => {
    try {
      await write(some);
      return undefined;
    } catch (error) {
      if (isTransient(error)) throw error;
      return error instanceof Error ? error : new Error(String(error));
    }
  };
  const failed = await attempt(entities);
  if (failed === undefined) return [];
  const rejected: Error[] = [];
  for (const entity of entities) {
    const rejection = entities.length === 1 ? failed : await attempt([entity]);
    if (rejection === undefined) continue;
    rejected.push(rejection);
    if (rejected.length === entities.length && entities.length > MAX_REJECTED) throw rejection;
    const { id, form, kind } = entity;
    logger.error({ err: rejection, id, form, kind }, 'the engine rejected a document, the index lacks it');
  }
  return rejected;
}

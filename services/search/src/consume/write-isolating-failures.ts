import { isTransient } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { IndexedEntity } from '../documents/entity.ts';

/** If more than this many are all refused, their content is not the reason. */
const MOST_ODD = 10;

/**
 * Writes forms together, or one by one when the engine refuses them, so that valid ones are written.
 * @returns the errors of the refused ones
 * @throws Error on transient failures, or when many were refused and none was accepted
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
  const refused: Error[] = [];
  for (const entity of entities) {
    const refusal = entities.length === 1 ? failed : await attempt([entity]);
    if (refusal === undefined) continue;
    refused.push(refusal);
    if (refused.length === entities.length && entities.length > MOST_ODD) throw refusal;
    const { id, form, kind } = entity;
    logger.error({ err: refusal, id, form, kind }, 'a document was refused, the index goes without it');
  }
  return refused;
}

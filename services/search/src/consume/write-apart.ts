import { isTransient } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { IndexedEntity } from '../engine/search-engine.ts';

/** If more than so many are refused one and all, it is not for what is in them. */
const MOST_ODD = 10;

/**
 * Writes forms together, or each by itself when the engine refuses them: then the others are written all the same.
 *
 * @returns what those that were refused failed with
 * @throws Error when something passing failed, or many were refused and none was taken
 */
export async function writeApart(
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

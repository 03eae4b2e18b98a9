import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import { changeResources, type ResourceChange } from './change-resources.ts';

const PATIENCE_MS = 3_000;
const PAUSE_MS = 25;

/**
 * As `changeResources`, but while the package is being published it waits for the end. For consequences of a
 * change that is already made elsewhere.
 *
 * @throws ServiceError as `changeResources`; `conflict` after 3 s
 */
export async function changeUnlockedResources<Result>(
  context: PackagesContext,
  change: ResourceChange<Result>,
): Promise<Result> {
  const deadline = performance.now() + PATIENCE_MS;
  while (true) {
    try {
      return await changeResources(context, change);
    } catch (error) {
      const isLocked = error instanceof ServiceError && error.kind === 'conflict';
      if (!isLocked || performance.now() > deadline) throw error;
    }
    await sleep(PAUSE_MS);
  }
}

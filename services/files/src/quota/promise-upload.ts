import type { ContentPath } from '../content/content-path.ts';
import type { Database, Tx } from '../store/prisma.ts';
import { allowance, type QuotaLimits } from './allowance.ts';
import type { InTurn } from './in-turn.ts';
import { findQuota, findUsage, lockQuota } from './quota-store.ts';

export interface PromiseUploadDeps extends QuotaLimits {
  database: Database;
  quotaTurns: InTurn;
  now: () => Date;
}

/**
 * Lets a resumable upload have its length, in the transaction of `save`: from then on, and until it is finished, given
 * up or expired, that counts as used.
 *
 * @param lengthBytes null where it is told later; until then counts what has come
 * @throws ServiceError `too_large` as `allowance` does
 */
export async function promiseUpload<Result>(
  deps: PromiseUploadDeps,
  { entityId, key, id, lengthBytes }: ContentPath & { id: string; lengthBytes: number | null },
  save: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const quota = await findQuota(deps.database, entityId);
  const needed = lengthBytes ?? 0;
  return deps.quotaTurns(quota, () =>
    deps.database.$transaction(async (tx) => {
      await lockQuota(tx, quota);
      const usage = await findUsage(tx, { entityId, key }, { id, at: deps.now() });
      allowance(deps, usage, { needed, wanted: needed });
      return save(tx);
    }),
  );
}

/** How many bytes an upload may have that has not told its length yet. */
export async function mostWithoutLength(
  deps: PromiseUploadDeps & { maxFileBytes: number },
  path: ContentPath & { id: string },
): Promise<number> {
  const usage = await findUsage(deps.database, path, { id: path.id, at: deps.now() });
  return allowance(deps, usage, { needed: 0, wanted: deps.maxFileBytes });
}

import type { ContentPath } from '../http/content-path.ts';
import type { Database, Tx } from '../store/prisma.ts';
import { type GrantBytesDeps, grantBytes } from './grant-bytes.ts';
import type { InTurn } from './in-turn.ts';
import { findOwner } from './quota-store.ts';

export interface PromiseUploadDeps extends GrantBytesDeps {
  database: Database;
  quotaTurns: InTurn;
}

type UploadPath = ContentPath & { id: string };

/**
 * Reserves the length of a resumable upload, in the transaction of `save`, until it is finished, expires or is deleted.
 * @param lengthBytes null if it is declared later; until then `reserveMore` reserves step by step
 * @throws ServiceError `too_large` as `grantBytes` does
 */
export async function reserveForUpload<Result>(
  deps: PromiseUploadDeps,
  { lengthBytes, ...path }: UploadPath & { lengthBytes: number | null },
  save: (tx: Tx, ownerId: string | null) => Promise<Result>,
): Promise<Result> {
  const needed = lengthBytes ?? 0;
  return withUsage(deps, path, async (tx, ownerId) => {
    const saved = await save(tx, ownerId);
    await grantBytes(tx, deps, { ...path, ownerId }, { id: path.id, needed, wanted: needed });
    return saved;
  });
}

/** Bytes reserved at a time for an upload of unknown length. */
const STEP_BYTES = 16_777_216;

/**
 * Reserves bytes for an upload of unknown length, of which `needed` bytes have arrived: these, and more if available.
 * @returns the number of reserved bytes
 * @throws ServiceError `too_large` as `grantBytes` does
 */
export async function reserveMore(
  deps: PromiseUploadDeps & { maxFileBytes: number },
  path: UploadPath,
  needed: number,
): Promise<number> {
  return withUsage(deps, path, async (tx, ownerId) => {
    await tx.$executeRaw`select from upload where id = ${path.id}::uuid for update`;
    const wanted = Math.max(needed, Math.min(needed + STEP_BYTES, deps.maxFileBytes));
    const reserved = await grantBytes(tx, deps, { ...path, ownerId }, { id: path.id, needed, wanted });
    await tx.$executeRaw`update upload set reserved = ${reserved}::bigint where id = ${path.id}::uuid`;
    return reserved;
  });
}

async function withUsage<Result>(
  { database, quotaTurns }: PromiseUploadDeps,
  { entityId }: UploadPath,
  run: (tx: Tx, ownerId: string | null) => Promise<Result>,
): Promise<Result> {
  const ownerId = await findOwner(database, entityId);
  return quotaTurns(ownerId ?? entityId, () => database.$transaction((tx) => run(tx, ownerId)));
}

import type { ContentPath } from '../http/content-path.ts';
import type { Database, Tx } from '../store/prisma.ts';
import {
  type Allowance,
  type AllowanceDeps,
  type BytesRequest,
  grantedBytes,
  selectAllowance,
} from './allowance.ts';
import type { InTurn } from './in-turn.ts';

export interface ReserveForUploadDeps extends AllowanceDeps {
  database: Database;
  quotaTurns: InTurn;
  now: () => Date;
}

type UploadPath = ContentPath & { id: string; ownerId: string | null };

/**
 * Reserves the length of a resumable upload, in the transaction of `save`, until it is finished, expires or is deleted.
 * @param lengthBytes null if it is declared later; until then `reserveMore` reserves step by step
 * @throws ServiceError `too_large` as `grantedBytes` does
 */
export async function reserveForUpload<Result>(
  deps: ReserveForUploadDeps,
  { lengthBytes, ...path }: UploadPath & { lengthBytes: number | null },
  save: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const needed = lengthBytes ?? 0;
  return afterOthers(deps, path, async (tx) => {
    const saved = await save(tx);
    await grantBytes(tx, deps, { ...path, needed, wanted: needed });
    return saved;
  });
}

/** Bytes reserved at a time for an upload of unknown length. */
const STEP_BYTES = 16_777_216;

/**
 * Reserves bytes for an upload of unknown length, of which `needed` bytes have arrived: these, and more if available.
 * @returns the number of reserved bytes
 * @throws ServiceError `too_large` as `grantedBytes` does
 */
export async function reserveMore(
  deps: ReserveForUploadDeps & { maxFileBytes: number },
  path: UploadPath,
  needed: number,
): Promise<number> {
  return afterOthers(deps, path, async (tx) => {
    await tx.$executeRaw`select from upload where id = ${path.id}::uuid for update`;
    const wanted = Math.max(needed, Math.min(needed + STEP_BYTES, deps.maxFileBytes));
    const reserved = await grantBytes(tx, deps, { ...path, needed, wanted });
    await tx.$executeRaw`update upload set reserved = ${reserved}::bigint where id = ${path.id}::uuid`;
    return reserved;
  });
}

async function grantBytes(tx: Tx, deps: ReserveForUploadDeps, request: BytesRequest): Promise<number> {
  const [allowance] = await tx.$queryRaw<[Allowance]>(selectAllowance(deps, request, deps.now()));
  return grantedBytes(tx, deps, allowance, request);
}

/** In a transaction that begins when no other upload of the owner waits in this process. */
function afterOthers<Result>(
  { database, quotaTurns }: ReserveForUploadDeps,
  { entityId, ownerId }: UploadPath,
  run: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  return quotaTurns(ownerId ?? entityId, () => database.$transaction(run));
}

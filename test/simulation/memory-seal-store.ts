import type { Participation } from '../../services/files/src/buckets/participation-rules.ts';
import type { Bucket, BucketState, SealStore } from '../../services/files/src/buckets/seal-store.ts';
import { type MemoryTx, type Reader, Table } from './memory-database.ts';

export interface BucketRow {
  readonly entityId: string;
  readonly state: BucketState;
  readonly publicationId: string | null;
  readonly sealedAt: Date | null;
  readonly revision: number;
  /** The keys of its entries, all of them complete and of one byte. */
  readonly keys: readonly string[];
}

export class BucketTables {
  readonly buckets = new Table<BucketRow>('bucket');
  readonly participations = new Table<Participation & { publicationId: string }>('participant');
}

/** The twin of `sqlSealStore`: the contract tests of both are the same. */
export function memorySealStore(tables: BucketTables): SealStore {
  const { buckets, participations } = tables;

  const locked = async (tx: MemoryTx, entityIds: readonly string[]): Promise<BucketRow[]> => {
    const ids = [...new Set(entityIds)].sort();
    for (const id of ids) {
      await tx.lock(`bucket ${id}`);
      if (tx.get(buckets, id) === undefined) tx.set(buckets, id, newBucket(id));
    }
    return ids.flatMap((id) => tx.get(buckets, id) ?? []);
  };
  const sealedBy = async (tx: MemoryTx, publicationId: string): Promise<BucketRow[]> => {
    const isSealed = (row: BucketRow | undefined) =>
      row?.state === 'sealed' && row.publicationId === publicationId;
    const ids = [...tx.all(buckets)].filter(isSealed).map(({ entityId }) => entityId);
    return (await locked(tx, ids)).filter(isSealed);
  };
  const put = (tx: MemoryTx, row: BucketRow): void => tx.set(buckets, row.entityId, row);
  const described = (tx: Reader, entityIds: readonly string[]) =>
    entityIds.map((entityId) => {
      const keys = [...(tx.get(buckets, entityId)?.keys ?? [])];
      return { entityId, entries: keys.length, pending: 0, totalBytes: keys.length, keys };
    });
  const remember = (tx: MemoryTx, publicationId: string, change: Partial<Participation>): void => {
    const participation: Participation = tx.get(participations, publicationId) ?? {
      state: 'prepared',
      epoch: 0,
    };
    tx.set(participations, publicationId, { ...participation, ...change, publicationId });
  };
  const unsealed = { publicationId: null, sealedAt: null };

  return {
    async lockParticipation(tx: MemoryTx, publicationId) {
      await tx.step();
      await tx.lock(`publication ${publicationId}`);
      const row = tx.get(participations, publicationId);
      return row === undefined ? undefined : { state: row.state, epoch: row.epoch };
    },
    async saveParticipation(tx: MemoryTx, publicationId, participation) {
      await tx.step();
      tx.set(participations, publicationId, { ...participation, publicationId });
    },

    async lockBuckets(tx: MemoryTx, entityIds) {
      await tx.step();
      const rows = await locked(tx, entityIds);
      return rows.map(({ entityId, state, publicationId }) => ({ entityId, state, publicationId }));
    },
    async seal(tx: MemoryTx, { publicationId, epoch, entityIds }, at) {
      await tx.step();
      remember(tx, publicationId, { state: 'prepared', epoch });
      for (const row of await locked(tx, entityIds)) {
        if (row.state === 'open') put(tx, { ...row, state: 'sealed', publicationId, sealedAt: at });
      }
      return described(tx, entityIds);
    },
    async applySeal(tx: MemoryTx, publicationId, publishedIds) {
      await tx.step();
      remember(tx, publicationId, { state: 'applied' });
      for (const row of await sealedBy(tx, publicationId)) {
        const isPublished = publishedIds === null || publishedIds.includes(row.entityId);
        put(tx, { ...row, ...unsealed, state: isPublished ? 'immutable' : 'open' });
      }
    },
    async undoSeal(tx: MemoryTx, publicationId) {
      await tx.step();
      remember(tx, publicationId, { state: 'aborted' });
      for (const row of await sealedBy(tx, publicationId)) put(tx, { ...row, ...unsealed, state: 'open' });
    },
    async makeImmutable(tx: MemoryTx, entityIds) {
      await tx.step();
      for (const row of await locked(tx, entityIds)) put(tx, { ...row, ...unsealed, state: 'immutable' });
    },
    // Reads are the same inside and outside of a transaction.
    async sealedBefore(sql, instant, limit) {
      const reader = sql as unknown as Reader;
      await reader.step();
      const old = [...reader.all(buckets)].filter(
        ({ state, sealedAt }) => state === 'sealed' && sealedAt !== null && sealedAt < instant,
      );
      return [...new Set(old.flatMap(({ publicationId }) => publicationId ?? []))].slice(0, limit);
    },

    async describeEntities(sql, entityIds) {
      const reader = sql as unknown as Reader;
      await reader.step();
      return described(reader, entityIds);
    },
    async findBucket(sql, entityId): Promise<Bucket | undefined> {
      const reader = sql as unknown as Reader;
      await reader.step();
      const row = reader.get(buckets, entityId);
      return row === undefined ? undefined : { state: row.state, publicationId: row.publicationId };
    },
    async lockOpenBucket(tx: MemoryTx, entityId) {
      await tx.step();
      await tx.lock(`bucket ${entityId}`);
      const row = tx.get(buckets, entityId) ?? newBucket(entityId);
      if (row.state !== 'open') return undefined;
      const revision = row.revision + 1;
      put(tx, { ...row, revision });
      return { entityId, revision };
    },
  };
}

function newBucket(entityId: string): BucketRow {
  return { entityId, state: 'open', publicationId: null, sealedAt: null, revision: 0, keys: [] };
}

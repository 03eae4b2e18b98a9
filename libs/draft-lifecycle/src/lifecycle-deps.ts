import type { SqlDatabase } from '@kr/database';
import type { Logger } from '@kr/telemetry';
import type { EntityKind } from './entity-kind.ts';
import type { LifecycleStore } from './lifecycle-store.ts';
import type { OwnerLimits } from './owner-limits.ts';

/** The files of one entity, as the files service counts them. */
export interface FileCounts {
  entries: number;
  /** Entries whose transfer is not complete. */
  pending: number;
  totalBytes: number;
  keys: readonly string[];
}

export const NO_FILES: FileCounts = { entries: 0, pending: 0, totalBytes: 0, keys: [] };

/** `undecided` may change at any moment and is never remembered. */
export type Decision = 'committed' | 'aborted' | 'undecided';

/** Dependencies of the operations; built once by the service. */
export interface LifecycleDeps {
  kind: EntityKind;
  database: SqlDatabase;
  store: LifecycleStore;
  now: () => Date;
  /** A new entity or parent id; see `newEntityId`. */
  newId: () => string;
  /** The prefix of the DOIs that this installation assigns, such as `10.5072`. */
  doiPrefix: string;
  /** The middle part of `oai:<prefix>:<id>`. */
  oaiPrefix: string;
  ticketKeys: { files: string; 'access-links': string };
  /** Counts of buckets, in one call for any number; a bucket that is not in the answer is empty. */
  describeBuckets(entityIds: readonly string[]): Promise<ReadonlyMap<string, FileCounts>>;
  /** Queries the coordinator. Throws when it cannot be reached within 3 s. */
  resolvePublications(publicationIds: readonly string[]): Promise<ReadonlyMap<string, Decision>>;
  /** The ids of the other kind of entity among these. A failed call counts as none. */
  findElsewhere(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** The external DOIs of the other kind of entity among these. Throws when it cannot be reached. */
  findDoisElsewhere(dois: readonly string[]): Promise<ReadonlySet<string>>;
  ownerLimits: OwnerLimits;
  /** Called after a transaction that wrote events: wakes the relay. */
  nudge(): void;
  /** Whether everything that was committed by now is sent within that many milliseconds; answers as soon as it is. */
  eventsSent(wait: { timeoutMs: number; signal?: AbortSignal }): Promise<boolean>;
  logger: Logger;
}

import type { ServiceName } from '@kr/local-stack';

/** Where the data of a system lies. */
export interface BackupSystem {
  /** Each as the service itself has it. */
  databaseUrls: Record<ServiceName, string>;
  /** The folder of stored bytes; undefined for a bucket, or if it is not reachable. */
  filesFolder: string | undefined;
  /** The data folder of a local system, with vocabularies and secrets; undefined for others. */
  dataDir: string | undefined;
}

/** Progress messages: a `step` begins, an `amount` is its progress. */
export interface Progress {
  step(sentence: string): void;
  amount(sentence: string): void;
}

/** Reports the number of processed objects. */
export function amountOf(all: number, progress: Progress): () => void {
  let done = 0;
  return () => {
    done += 1;
    progress.amount(`${done} of ${all} objects`);
  };
}

/**
 * The order of snapshots: referring databases before referenced ones, so that no package lists a resource, and
 * no row an owner, that was created a moment later.
 */
export const IN_ORDER = [
  'search',
  'access-links',
  'packages',
  'files',
  'records',
  'gateway',
] as const satisfies readonly ServiceName[];

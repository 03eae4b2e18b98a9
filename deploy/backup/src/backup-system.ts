import type { ServiceName } from '@kr/local-stack';

/** Where the data of a system lies. */
export interface BackupSystem {
  /** Each as the service itself has it. */
  databaseUrls: Record<ServiceName, string>;
  /** What the files service keeps bytes in; undefined where that is a bucket, or out of reach. */
  filesFolder: string | undefined;
  /** A local system's data folder, for what else is in it; undefined for others. */
  dataDir: string | undefined;
}

/** Told what is being done; a `step` begins something, an `amount` is how much of it is done. */
export interface Progress {
  step(sentence: string): void;
  amount(sentence: string): void;
}

/** Counts objects for those who wait. */
export function amountOf(all: number, progress: Progress): () => void {
  let done = 0;
  return () => {
    done += 1;
    progress.amount(`${done} of ${all} objects`);
  };
}

/**
 * The order in which databases are looked at: who refers before what is referred to, so that no package lists a resource, and
 * nothing an owner, that came to be a moment later.
 */
export const IN_ORDER = [
  'search',
  'access-links',
  'packages',
  'files',
  'records',
  'gateway',
] as const satisfies readonly ServiceName[];

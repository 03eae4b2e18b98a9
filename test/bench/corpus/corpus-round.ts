import type { Round } from '../load.ts';

/** Requests of one kind over the corpus; latencies in milliseconds. */
export interface CorpusRound extends Pick<Round, 'requests' | 'failed' | 'p50' | 'p99'> {
  name: string;
}

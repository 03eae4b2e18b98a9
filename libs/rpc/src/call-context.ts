import type { Principal } from '@kr/caller';

/** Facts about the call besides its request. */
export interface CallContext {
  /** The verified caller. */
  principal: Principal;
  /** Aborted when the caller cancelled or the deadline passed: no caller receives the result. */
  signal: AbortSignal;
  /** Calls made while handling this one end by then too. */
  deadline: Date;
  /** `knowledge.records.v1.RecordsService/DescribeRecords`. */
  method: string;
}

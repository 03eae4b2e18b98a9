import type { Principal } from '@kr/caller';

/** What a handler knows of the call beside its request. */
export interface CallContext {
  /** Who is calling; verified. */
  principal: Principal;
  /** Aborted when the caller gave up or the deadline passed: the answer will reach nobody. */
  signal: AbortSignal;
  /** Calls made while handling this one end by then too. */
  deadline: Date;
  /** `knowledge.records.v1.RecordsService/DescribeRecords`. */
  method: string;
}

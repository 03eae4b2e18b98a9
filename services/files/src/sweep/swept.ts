/** What was removed, or would be. */
export interface Swept {
  count: number;
  bytes: number;
}

export interface SweepOptions {
  /** Only looks what there is to be removed. */
  isTrial?: boolean;
}

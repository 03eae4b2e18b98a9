/** A `google.protobuf.Timestamp`, to the millisecond. */
export function timestamp(at: Date): { seconds: number; nanos: number } {
  const ms = at.getTime();
  const seconds = Math.floor(ms / 1_000);
  return { seconds, nanos: (ms - seconds * 1_000) * 1_000_000 };
}

/** A `google.protobuf.Timestamp`, to the millisecond. */
export function timestamp(at: Date): { seconds: string; nanos: number } {
  const ms = at.getTime();
  const seconds = Math.floor(ms / 1_000);
  return { seconds: String(seconds), nanos: (ms - seconds * 1_000) * 1_000_000 };
}

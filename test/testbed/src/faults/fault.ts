/** The way bytes go through a proxy. */
export type Direction = 'to server' | 'to client';

/** A lasting condition of connections, in both directions by default. */
export type Fault =
  /** Every chunk is delayed by `ms` and up to `jitterMs` more, in order. Milliseconds. */
  | { kind: 'latency'; ms: number; jitterMs?: number; direction?: Direction }
  | { kind: 'bandwidth'; bytesPerSecond: number; direction?: Direction }
  /**
   * All bytes and the end of a connection are dropped silently. A connection that lost bytes is reset when the fault
   * ends, so that no stream continues with a gap.
   */
  | { kind: 'black hole'; direction?: Direction }
  /** New connections are reset before the first byte; existing ones stay. */
  | { kind: 'refuse' };

/** The point at which one connection is cut. */
export interface Cut {
  direction: Direction;
  /** How many bytes still pass; 0 cuts before the first. */
  afterBytes: number;
  /** Counts from the first piece sent to the server of which this is true: with its bytes, or with its reply's. */
  when?: (sentToServer: Buffer) => boolean;
}

/** The sum of the faults of one direction. */
export interface Conditions {
  latencyMs: number;
  jitterMs: number;
  /** Infinity without a limit. */
  bytesPerSecond: number;
  isBlackHole: boolean;
}

export function conditionsOf(faults: Iterable<Fault>, direction: Direction): Conditions {
  const sum: Conditions = {
    latencyMs: 0,
    jitterMs: 0,
    bytesPerSecond: Number.POSITIVE_INFINITY,
    isBlackHole: false,
  };
  for (const fault of faults) {
    if (fault.kind === 'refuse' || (fault.direction ?? direction) !== direction) continue;
    if (fault.kind === 'latency') {
      sum.latencyMs += fault.ms;
      sum.jitterMs += fault.jitterMs ?? 0;
    } else if (fault.kind === 'bandwidth') {
      sum.bytesPerSecond = Math.min(sum.bytesPerSecond, fault.bytesPerSecond);
    } else {
      sum.isBlackHole = true;
    }
  }
  return sum;
}

export function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case 'latency':
      return `latency ${fault.ms} ms + up to ${fault.jitterMs ?? 0} ms${way(fault.direction)}`;
    case 'bandwidth':
      return `bandwidth ${fault.bytesPerSecond} bytes/s${way(fault.direction)}`;
    case 'black hole':
      return `black hole${way(fault.direction)}`;
    case 'refuse':
      return 'refuse';
    default:
      return fault satisfies never;
  }
}

function way(direction: Direction | undefined): string {
  return direction === undefined ? '' : ` ${direction}`;
}

/** A request of a client. Numbers of publications and of edits are unique in a history. */
export type Call =
  /** Adds a number at the end of the list that the draft holds. */
  | { do: 'append'; entity: string; value: number }
  /**
   * Publishes entities together. The number is part of the published content, and grows with
   * every publication of the same entity. A repeat has the same number.
   */
  | { do: 'publish'; publication: number; entities: readonly string[] }
  | { do: 'read'; entity: string; form: 'draft' | 'published' };

/** The content of a read; `absent` when there is no such form. */
export type Seen = { publication: number; values: readonly number[] } | 'absent';

/**
 * Outcome of a call: `ok`; `fail`, it has not happened and will not; `info`, unknown: a timeout, a broken
 * connection, "retry later".
 */
export type Outcome = { type: 'ok'; seen?: Seen } | { type: 'fail' } | { type: 'info' };

/** One line of a history. Times in milliseconds on one clock that never goes back. */
export type Recorded =
  | { type: 'invoke'; client: number; at: number; call: Call }
  | ({ client: number; at: number } & Outcome);

/** Recorded calls in the order of time. A client waits for the end of a call before it makes the next. */
export type History = readonly Recorded[];

export interface Recorder {
  readonly events: Recorded[];
  /** Writes down when a call begins and how it ends; gives its outcome on. */
  record(client: number, call: Call, run: () => Promise<Outcome>): Promise<Outcome>;
}

export function openRecorder(now: () => number = machineTime): Recorder {
  const events: Recorded[] = [];
  return {
    events,
    async record(client, call, run) {
      events.push({ type: 'invoke', client, at: now(), call });
      const outcome = await run();
      events.push({ client, at: now(), ...outcome });
      return outcome;
    },
  };
}

/** Milliseconds since the machine began: the same clock in all its processes. */
function machineTime(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

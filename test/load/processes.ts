import { readdirSync, readFileSync } from 'node:fs';
import { type PartName, SERVICES } from '@kr/local-stack';
import { processTree } from '../bench/cpu-time.ts';

/** Measurements of one process, or of Postgres with all its processes, at an instant. */
interface Sample {
  /** Milliseconds. */
  at: number;
  /** Resident memory, with shared pages divided by their users (proportional set size). */
  mebibytes: number;
  /** Open file handles, sockets among them. */
  handles: number;
}

/** Change of a process over the measured time. */
export interface ProcessFigures {
  part: string;
  firstMebibytes: number;
  lastMebibytes: number;
  /** Of the straight line through the samples after the warm-up. */
  mebibytesPerMinute: number;
  /** The median of the first and the last third after the warm-up. */
  handlesBefore: number;
  handlesAfter: number;
}

export interface Watch {
  figures(warmUpSeconds: number): ProcessFigures[];
  stop(): void;
}

const EVERY_MS = 2_000;
const PARTS: readonly PartName[] = [...SERVICES, 'postgres', 'nats'];

/** Samples all parts of a system every two seconds. Linux only. */
export function watchProcesses(pid: (part: PartName) => number | undefined): Watch {
  const samples = new Map<PartName, Sample[]>(PARTS.map((part) => [part, []]));
  const look = (): void => {
    for (const part of PARTS) {
      const root = pid(part);
      if (root !== undefined)
        samples.get(part)?.push({ at: performance.now(), ...stateOf(processTree(root)) });
    }
  };
  look();
  const timer = setInterval(look, EVERY_MS);
  return {
    figures: (warmUpSeconds) =>
      [...samples].flatMap(([part, all]) => {
        const since = (all[0]?.at ?? 0) + warmUpSeconds * 1_000;
        const counted = all.filter(({ at }) => at >= since);
        const third = Math.ceil(counted.length / 3);
        const [first, last] = [counted[0], counted.at(-1)];
        if (first === undefined || last === undefined) return [];
        return {
          part,
          firstMebibytes: first.mebibytes,
          lastMebibytes: last.mebibytes,
          mebibytesPerMinute: slope(counted) * 60_000,
          handlesBefore: middle(counted.slice(0, third).map(({ handles }) => handles)),
          handlesAfter: middle(counted.slice(-third).map(({ handles }) => handles)),
        };
      }),
    stop: () => clearInterval(timer),
  };
}

/** Of processes together; one that ended meanwhile has nothing any more. */
export function stateOf(pids: readonly number[]): { mebibytes: number; handles: number } {
  let kibibytes = 0;
  let handles = 0;
  for (const pid of pids) {
    try {
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
      kibibytes += Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0);
      handles += readdirSync(`/proc/${pid}/fd`).length;
    } catch {
      // Postgres ends sessions by itself.
    }
  }
  return { mebibytes: kibibytes / 1_024, handles };
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Least squares, in mebibytes a millisecond. */
function slope(samples: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number) =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [at, mebibytes] = [mean((sample) => sample.at), mean((sample) => sample.mebibytes)];
  const over = samples.reduce((sum, sample) => sum + (sample.at - at) * (sample.mebibytes - mebibytes), 0);
  const under = samples.reduce((sum, sample) => sum + (sample.at - at) ** 2, 0);
  return under === 0 ? 0 : over / under;
}

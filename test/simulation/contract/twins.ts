import { ServiceError } from '@kr/service-error';
import { type Chance, chance } from '../chance.ts';
import { withoutFaults } from '../faults.ts';
import { type MemoryConnection, MemoryDatabase } from '../memory-database.ts';
import { SimulatedProcess } from '../simulated-process.ts';
import { openTrace } from '../trace.ts';
import { virtualTime } from '../virtual-time.ts';

/** The outcome of a command: its answer or error, and the whole state after it. */
export interface Result {
  readonly outcome: 'done' | 'failed';
  readonly answer: unknown;
  readonly state: unknown;
}

/** Two stores that are to be the same. */
export interface Twins {
  readonly commands: readonly string[];
  /** Gives the next command to both. */
  next(choose: Chance): Promise<{ words: string; ofMemory: Result; ofSql: Result }>;
  /** Shows that both hold locks alike. */
  contend(): Promise<void>;
  close(): Promise<void>;
}

/** One of the two stores: runs a command and returns its state. */
export interface Twin<Command> {
  run(command: Command): Promise<unknown>;
  state(): Promise<unknown>;
}

export async function resultOf<Command>(twin: Twin<Command>, command: Command): Promise<Result> {
  let outcome: Result['outcome'] = 'done';
  let answer: unknown;
  try {
    answer = await twin.run(command);
  } catch (error) {
    outcome = 'failed';
    answer = error instanceof ServiceError ? { kind: error.kind, code: error.code } : 'an error';
  }
  return JSON.parse(JSON.stringify({ outcome, answer: answer ?? null, state: await twin.state() }));
}

/** A database in memory to which nothing bad happens, and the time in which its work is done. */
export interface CalmMemory {
  readonly connection: MemoryConnection;
  /** Lets virtual time pass until the work is done. */
  inTime<Value>(work: () => Promise<Value>): Promise<Value>;
  /** Until somebody has begun to wait for a lock. */
  untilWaiting(): Promise<void>;
}

const LONGEST_MS = 60_000;

export function calmMemory(): CalmMemory {
  const time = virtualTime();
  const trace = openTrace(time, false);
  const deps = { time, trace, chance: chance(1), faults: withoutFaults() };
  const connection = new MemoryDatabase(deps).connect(new SimulatedProcess(deps, 'records', 'records-1'));
  return {
    connection,
    async inTime(work) {
      let isDone = false;
      const result = work().finally(() => {
        isDone = true;
      });
      result.catch(() => undefined);
      await time.runUntil(time.now() + LONGEST_MS, () => isDone);
      if (!isDone) throw new Error(`not done after ${LONGEST_MS} ms of virtual time`);
      return result;
    },
    async untilWaiting() {
      const before = trace.counts['lock waits'] ?? 0;
      while ((trace.counts['lock waits'] ?? 0) === before) await time.sleep(1);
    },
  };
}

import { ServiceError } from '@kr/service-error';
import { searchTimeout } from '../engine/search-engine.ts';

export interface TurnRequest {
  /** Names the user or address that searches. */
  caller: string;
  /** Whether the search may read the words of all documents; the others are quick. */
  isCostly: boolean;
  /** Milliseconds to wait for a turn. */
  timeoutMs: number;
}

export interface FairTurns {
  /**
   * Resolves when a search may run, with the function that releases its turn.
   * @throws ServiceError - `rate_limited` (`too_many_searches`): the caller has too many waiting searches - `unavailable` (`search_timeout`):
   * no turn was free in time
   */
  acquire(request: TurnRequest): Promise<() => void>;
}

/** Searches of one caller that run at once; costly ones among them. */
const RUNNING_OF_CALLER = 2;
const COSTLY_OF_CALLER = 1;
/** Searches of one caller that wait. */
const WAITING_OF_CALLER = 16;
/** The share of connections that costly searches may use: each uses a whole processor of the database. */
const COSTLY_SHARE = 1 / 4;

interface Waiting extends TurnRequest {
  start(): void;
}

/**
 * Shares the connections for searches between callers: each has few at once, callers get free ones in turn, and most
 * connections are only for quick searches.
 */
export function fairTurns(connections: number): FairTurns {
  const maxCostly = Math.max(1, Math.floor(connections * COSTLY_SHARE));
  /** Callers in the order of their next turns. */
  const waiting = new Map<string, Waiting[]>();
  const running = new Map<string, { all: number; costly: number }>();
  const total = { all: 0, costly: 0 };

  const mayStart = ({ caller, isCostly }: TurnRequest): boolean => {
    const own = running.get(caller) ?? { all: 0, costly: 0 };
    if (total.all >= connections || own.all >= RUNNING_OF_CALLER) return false;
    return !isCostly || (total.costly < maxCostly && own.costly < COSTLY_OF_CALLER);
  };

  const count = ({ caller, isCostly }: TurnRequest, change: 1 | -1): void => {
    const own = running.get(caller) ?? { all: 0, costly: 0 };
    for (const counts of [own, total]) {
      counts.all += change;
      if (isCostly) counts.costly += change;
    }
    if (own.all === 0) running.delete(caller);
    else running.set(caller, own);
  };

  const remove = (entry: Waiting): void => {
    const own = waiting.get(entry.caller)?.filter((other) => other !== entry) ?? [];
    // The caller moves to the end of the order.
    waiting.delete(entry.caller);
    if (own.length > 0) waiting.set(entry.caller, own);
  };

  const startNext = (): void => {
    for (const own of [...waiting.values()]) {
      const next = own.find(mayStart);
      if (next === undefined) continue;
      remove(next);
      next.start();
    }
  };

  const start = (request: TurnRequest): (() => void) => {
    count(request, 1);
    let isRunning = true;
    return () => {
      if (!isRunning) return;
      isRunning = false;
      count(request, -1);
      startNext();
    };
  };

  return {
    acquire: async (request) => {
      if (mayStart(request)) return start(request);
      const own = waiting.get(request.caller) ?? [];
      if (own.length >= WAITING_OF_CALLER) throw tooManySearches();
      return new Promise((resolve, reject) => {
        const entry: Waiting = {
          ...request,
          start: () => {
            clearTimeout(timer);
            resolve(start(request));
          },
        };
        const timer = setTimeout(() => {
          const rest = waiting.get(request.caller)?.filter((other) => other !== entry) ?? [];
          if (rest.length > 0) waiting.set(request.caller, rest);
          else waiting.delete(request.caller);
          reject(searchTimeout());
        }, request.timeoutMs);
        timer.unref();
        waiting.set(request.caller, [...own, entry]);
      });
    },
  };
}

function tooManySearches(): ServiceError {
  return new ServiceError(
    'rate_limited',
    'Too many searches of this caller are running. Wait until one of them has ended.',
    {
      code: 'too_many_searches',
      retryAfterMs: 1_000,
    },
  );
}

export interface EngineTimeDeps {
  turns: FairTurns;
  /** Milliseconds that all engine calls of one request may take, with the wait for their turns. */
  limitMs: number;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
}

/** The time that one request spends in the engine. */
export interface EngineTime {
  /**
   * Makes one engine call in a turn of the caller, with the rest of the request's time in whole milliseconds.
   *
   * @throws ServiceError as `FairTurns.acquire`, and the error of `work`, with the time used so far
   */
  run<Result>(isCostly: boolean, work: (timeoutMs: number) => Promise<Result>): Promise<Result>;
  /** Milliseconds of engine calls so far, without waiting. */
  readonly usedMs: number;
}

export type OpenEngineTime = (caller: string) => EngineTime;

export function engineTime({ turns, limitMs, elapsed }: EngineTimeDeps): OpenEngineTime {
  return (caller) => {
    let spentMs = 0;
    let usedMs = 0;
    return {
      get usedMs() {
        return Math.round(usedMs);
      },
      async run(isCostly, work) {
        const requestedAt = elapsed();
        if (spentMs >= limitMs) throw withUsed(searchTimeout(), usedMs);
        const timeoutMs = limitMs - spentMs;
        const release = await turns.acquire({ caller, isCostly, timeoutMs });
        const started = elapsed();
        try {
          return await work(Math.max(1, Math.floor(timeoutMs - (started - requestedAt))));
        } catch (error) {
          throw withUsed(error, usedMs + elapsed() - started);
        } finally {
          usedMs += elapsed() - started;
          spentMs += elapsed() - requestedAt;
          release();
        }
      },
    };
  };
}

function withUsed(thrown: unknown, usedMs: number): ServiceError {
  const error = ServiceError.from(thrown);
  return new ServiceError(error.kind, error.message, { ...error, usedMs: Math.round(usedMs), cause: thrown });
}

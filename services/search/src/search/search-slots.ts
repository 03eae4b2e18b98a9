import { ServiceError } from '@kr/service-error';
import { searchTimeout } from '../engine/search-engine.ts';

export interface SlotRequest {
  /** Names the user or address that searches. */
  caller: string;
  /** Whether the search may read the words of all documents; the others are quick. */
  isCostly: boolean;
  /** Milliseconds to wait for a slot. */
  timeoutMs: number;
}

export interface SearchSlots {
  /**
   * Resolves when a search may run, with the function that releases its slot.
   * @throws ServiceError `rate_limited` (`too_many_searches`): the caller has too many waiting searches; `unavailable`
   * (`search_timeout`): no slot was free in time
   */
  acquire(request: SlotRequest): Promise<() => void>;
}

/** Searches of one caller that run at once; costly ones among them. */
const RUNNING_OF_CALLER = 2;
const COSTLY_OF_CALLER = 1;
/** Searches of one caller that wait. */
const WAITING_OF_CALLER = 16;
/** The share of connections that costly searches may use: each uses a whole processor of the database. */
const COSTLY_SHARE = 1 / 4;

interface Waiting extends SlotRequest {
  start(): void;
}

/**
 * Shares the connections for searches between callers: each has few at once, waiting callers take turns, and most
 * connections are only for quick searches.
 */
export function searchSlots(connections: number): SearchSlots {
  const maxCostly = Math.max(1, Math.floor(connections * COSTLY_SHARE));
  /** Callers in the order of their next turns. */
  const waiting = new Map<string, Waiting[]>();
  const running = new Map<string, { all: number; costly: number }>();
  const total = { all: 0, costly: 0 };

  const mayStart = ({ caller, isCostly }: SlotRequest): boolean => {
    const own = running.get(caller) ?? { all: 0, costly: 0 };
    if (total.all >= connections || own.all >= RUNNING_OF_CALLER) return false;
    return !isCostly || (total.costly < maxCostly && own.costly < COSTLY_OF_CALLER);
  };

  const count = ({ caller, isCostly }: SlotRequest, change: 1 | -1): void => {
    const own = running.get(caller) ?? { all: 0, costly: 0 };
    for (const counts of [own, total]) {
      counts.all += change;
      if (isCostly) counts.costly += change;
    }
    if (own.all === 0) running.delete(caller);
    else running.set(caller, own);
  };

  /** The caller keeps its place in the order, or moves to the end. */
  const remove = (entry: Waiting, { keepsPlace }: { keepsPlace: boolean }): void => {
    const own = waiting.get(entry.caller)?.filter((other) => other !== entry) ?? [];
    if (!keepsPlace || own.length === 0) waiting.delete(entry.caller);
    if (own.length > 0) waiting.set(entry.caller, own);
  };

  const startNext = (): void => {
    for (const own of [...waiting.values()]) {
      const next = own.find(mayStart);
      if (next === undefined) continue;
      remove(next, { keepsPlace: false });
      next.start();
    }
  };

  const start = (request: SlotRequest): (() => void) => {
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
          remove(entry, { keepsPlace: true });
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

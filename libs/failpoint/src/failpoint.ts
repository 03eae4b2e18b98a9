import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@kr/telemetry';
import type { Failpoint, Step } from './failpoints.ts';
import { type Order, readOrders } from './orders.ts';

/** Thrown at a failpoint armed with `error`: an error that no caller expects. */
class FailpointError extends Error {
  override readonly name = 'FailpointError';
}

type Reach = (failpoint: Failpoint) => Promise<void> | undefined;

const PASS: Reach = () => undefined;

let reach = PASS;

/**
 * Arms the failpoints of `FAILPOINT`; without it nothing changes. Only for `main.ts`, once, before anything
 * else: {@link around} reads the orders when it is called.
 *
 * @throws Error when the orders are malformed or name no failpoint
 */
export function armFailpoints(orders: string | undefined, logger: Logger): void {
  const read = readOrders(orders ?? '');
  if (read.length === 0) return;
  logger.warn({ failpoints: orders }, 'failpoints are armed: this process will fail on purpose');
  reach = armed(read, logger);
}

/** A place where the process fails if it is armed; otherwise it continues at once. */
export function failpoint(name: Failpoint): Promise<void> | undefined {
  return reach(name);
}

/** The call with a failpoint before it and one after it has succeeded; the call itself when no failpoint is armed. */
export function around<Args extends unknown[], Answer>(
  step: Step,
  call: (...args: Args) => Promise<Answer>,
): (...args: Args) => Promise<Answer> {
  if (reach === PASS) return call;
  return async (...args) => {
    await reach(`${step}.before`);
    const answer = await call(...args);
    await reach(`${step}.after`);
    return answer;
  };
}

function armed(orders: readonly Order[], logger: Logger): Reach {
  const hits = new Map<Failpoint, number>();
  return async (name) => {
    const hit = (hits.get(name) ?? 0) + 1;
    hits.set(name, hit);
    const order = orders.find(({ failpoint, nth }) => failpoint === name && (nth ?? hit) === hit);
    if (order === undefined) return;
    const { failure } = order;
    // Flushed before this returns, so that the log shows where the process died.
    logger.warn({ failpoint: name, hit, failure: failure.do }, 'failpoint reached');
    if (failure.do === 'kill') process.kill(process.pid, 'SIGKILL');
    if (failure.do === 'error') throw new FailpointError(`failpoint ${name}`);
    if (failure.do === 'pause') await sleep(failure.ms);
  };
}

import { Checker } from './checker.ts';
import { Clients } from './clients.ts';
import { type Plan, type PlanOptions, planOf } from './plan.ts';
import type { Trace } from './trace.ts';
import { World } from './world.ts';

export interface History {
  readonly plan: Plan;
  readonly trace: Trace;
}

const REST_WITHIN_MS = 60_000;
const LONGEST_LOOK_MS = 1_000;

/** One history: clients and faults for a while, then calm until nothing is left to be done. */
export async function runHistory(options: PlanOptions, isTold = false): Promise<History> {
  const plan = planOf(options);
  const world = new World(plan, isTold);
  const { time, trace } = world;
  const checker = new Checker(world);
  const clients = new Clients(world, checker);
  clients.start();
  scheduleOutages(world);
  await time.runUntil(plan.busyMs);

  world.calm();
  // Delayed messages and paused processes continue within this time; then every lock must be released.
  await time.runUntil(plan.busyMs + 15_000);
  const answers = plan.packages.map(async ({ id }) => ({ id, isAccepted: await clients.publishAtLast(id) }));
  let isAnswered = false;
  const asked = Promise.all(answers).then((all) => {
    isAnswered = true;
    return all;
  });
  let nextLook = 0;
  await time.runUntil(time.now() + REST_WITHIN_MS, () => {
    if (!isAnswered || time.now() < nextLook) return false;
    nextLook = time.now() + LONGEST_LOOK_MS;
    return checker.isAtRest();
  });
  checker.checkRest();
  if (!isAnswered) trace.violation('at rest: a publication is still not answered');
  else checker.checkAnswers(await asked);
  return { plan, trace };
}

function scheduleOutages(world: World): void {
  const { time, chance, network, plan } = world;
  const { msPerPartition } = plan.faults;
  if (msPerPartition === 0) return;
  const next = (): void => {
    time.after(chance.below(2 * msPerPartition), () => {
      if (time.now() >= plan.busyMs) return;
      const [a, b] = chance.oneOf([
        ['packages', 'records'],
        ['packages', 'files'],
        ['records', 'files'],
      ] as const);
      network.cut(a, b, 1_000 + chance.below(6_000));
      next();
    });
  };
  next();
}

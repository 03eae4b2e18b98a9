import { isFull } from '../scale.ts';
import { KILL_PLANS, type KillPlan } from './kill-plans.ts';

/** Points that one process after the other dies at, and their names for people. */
export interface KillRound {
  plans: readonly [KillPlan, ...KillPlan[]];
  points: readonly string[];
  steps: string;
}

export const plansOf = (...stories: KillPlan['story'][]): KillPlan[] =>
  KILL_PLANS.filter(({ story }) => stories.includes(story));

/** In the short form one round for all points that are reached in the same way; in the full form one for each point. */
export function roundsOf(plans: readonly KillPlan[]): KillRound[] {
  const wayOf = ({ point, orders, ...way }: KillPlan) =>
    JSON.stringify({ ...way, first: orders.replace(`${point}:kill`, '') });
  const groups = isFull ? plans.map((plan) => [plan]) : Map.groupBy(plans, wayOf).values();
  return [...groups].map((group) => {
    const points = group.map(({ point }) => point);
    return { plans: group as [KillPlan, ...KillPlan[]], points, steps: points.join(', ') };
  });
}

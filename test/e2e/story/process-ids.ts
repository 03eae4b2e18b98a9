import { PROGRAMS } from '@kr/local-stack';
import type { SharedSystem } from '@kr/testbed/shared-system';

/** The id of each program's process; undefined while it is down. */
export function processIds({ pid }: Pick<SharedSystem, 'pid'>): Record<string, number | undefined> {
  return Object.fromEntries(PROGRAMS.map((name) => [name, pid(name)]));
}

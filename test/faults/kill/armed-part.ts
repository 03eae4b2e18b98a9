import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServiceName } from '@kr/local-stack';
import type { TestSystem } from '@kr/testbed/system';

/** Processes of a part with orders to die, one after the other. */
export interface ArmedPart {
  /** The failpoints at which they have died by now, in the order of their deaths. */
  deaths(): Promise<string[]>;
  /**
   * Whether one has died at each of the failpoints, and the next one runs.
   * @throws Error when one ended otherwise than by its own SIGKILL
   */
  haveDiedAt(points: readonly string[]): Promise<boolean>;
}

/**
 * Restarts a part with orders to fail; when that process dies, the next gets the next orders, and in the end
 * none.
 */
export async function arm(system: TestSystem, part: ServiceName, ...orders: string[]): Promise<ArmedPart> {
  const log = join(system.logDir, `${part}.log`);
  const { size } = await stat(log);
  const said = system.progress.length;
  await system.relaunch(part, ...orders.map((FAILPOINT) => ({ FAILPOINT })));

  const heard = (words: string) =>
    system.progress
      .slice(said)
      .filter((sentence) => sentence.includes(`${part} `) && sentence.includes(words)).length;
  // One more than deaths at failpoints: the process before the first.
  const deaths = async () => killsIn((await readFile(log)).subarray(size).toString('utf8'));
  return {
    deaths,
    async haveDiedAt(points) {
      if (heard('exit code') > 0)
        throw new Error(`${part} ended by itself: ${system.progress.slice(said).join('; ')}`);
      const dead = await deaths();
      const isKilled = heard('signal SIGKILL') > dead.length;
      return points.every((point) => dead.includes(point)) && isKilled && system.pid(part) !== undefined;
    },
  };
}

/** The failpoints that processes logged before they killed themselves. */
function killsIn(log: string): string[] {
  return log
    .split('\n')
    .filter((line) => line.includes('"failpoint reached"'))
    .map((line): { failpoint: string; failure: string } => JSON.parse(line))
    .flatMap(({ failpoint, failure }) => (failure === 'kill' ? [failpoint] : []));
}

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Failpoint } from '@kr/failpoint';
import type { ServiceName } from '@kr/local-stack';
import { until } from '@kr/testbed';
import type { TestSystem } from '@kr/testbed/system';

/** Processes of a part that were told to die, one after the other. */
export interface ArmedPart {
  /** The failpoints at which they have died by now, in the order of their deaths. */
  deaths(): Promise<string[]>;
  /**
   * Waits until one has died at a failpoint and the next one runs.
   * @throws Error when one ended otherwise than by its own SIGKILL, or none within a minute
   */
  diedAt(point: Failpoint): Promise<void>;
}

/** Starts a part anew with orders to fail; when that process dies, the next gets the next orders, and in the end none. */
export async function arm(system: TestSystem, part: ServiceName, ...orders: string[]): Promise<ArmedPart> {
  const log = join(system.logDir, `${part}.log`);
  const { size } = await stat(log);
  const said = system.progress.length;
  await system.relaunch(part, ...orders.map((FAILPOINT) => ({ FAILPOINT })));

  const heard = (words: string) =>
    system.progress
      .slice(said)
      .filter((sentence) => sentence.includes(`${part} `) && sentence.includes(words)).length;
  const deaths = async () => killsIn((await readFile(log)).subarray(size).toString('utf8'));
  return {
    deaths,
    async diedAt(point) {
      const isDead = async () => {
        const points = await deaths();
        // One more: the process before the first.
        return (
          points.includes(point) && heard('signal SIGKILL') > points.length && system.pid(part) !== undefined
        );
      };
      await until(isDead, { timeoutMs: 60_000, what: `${part} to die at ${point}` });
      if (heard('exit code') > 0)
        throw new Error(`${part} ended by itself: ${system.progress.slice(said).join('; ')}`);
    },
  };
}

/** The failpoints at which processes say that they kill themselves. */
function killsIn(log: string): string[] {
  return log
    .split('\n')
    .filter((line) => line.includes('"failpoint reached"'))
    .map((line): { failpoint: string; failure: string } => JSON.parse(line))
    .flatMap(({ failpoint, failure }) => (failure === 'kill' ? [failpoint] : []));
}

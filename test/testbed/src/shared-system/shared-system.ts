import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { dataFolder } from '@kr/local-stack';
import { isAlive } from '@kr/local-stack/backends';
import { askKeeper, keeperOf } from '../jest/keeper.ts';
import type { SharedSystem } from '../start-system.ts';
import type { Lease } from './lease.ts';

export type { SharedSystem } from '../start-system.ts';

const KEEPER_START_MS = 60_000;

/**
 * A whole system as `startSystem()` starts it without options. The calling test file has it to itself until
 * `stop()`, but the system may contain users and entities of other files. It starts if every one that runs is in use.
 * Options of one or two services are variables of `relaunch`, which the next file does not get.
 */
export async function sharedSystem(): Promise<SharedSystem> {
  const keeper = keeperOf('system');
  if (keeper === undefined) throw new Error('systems are only shared within a run of Jest');
  const { url } = await askKeeper<{ url: string }>(keeper, KEEPER_START_MS);
  const call = async <Result>(operation: string, input: object): Promise<Result> => {
    const response = await fetch(`${url}/${operation}`, { method: 'POST', body: JSON.stringify(input) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as Result;
  };
  const { id, ...system } = await call<Lease>('lend', {});
  const { processesFile } = dataFolder(dirname(system.logDir));
  const pid: SharedSystem['pid'] = (part) => {
    const { parts } = JSON.parse(readFileSync(processesFile, 'utf8'));
    const listed: number | undefined = parts[part]?.pid;
    return listed !== undefined && isAlive(listed) ? listed : undefined;
  };
  let hasKilled = false;
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= call('takeBack', { id, hasKilled });
    return stopping;
  };
  return {
    ...system,
    createUser: (name, options) => call('createUser', { id, name, isAdmin: options?.admin === true }),
    pid,
    kill: (part, signal) => {
      const found = pid(part);
      if (found === undefined) throw new Error(`${part} is down`);
      hasKilled = true;
      process.kill(found, signal);
    },
    relaunch: (part, ...further) => {
      hasKilled = true;
      return call('relaunch', { id, part, further });
    },
    assertNoDrift: () => call('assertNoDrift', { id }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

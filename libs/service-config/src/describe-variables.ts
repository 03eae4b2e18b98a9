import { ConfigError } from './config-error.ts';
import type { Environment } from './environment.ts';

/** One look of a reader at one variable. */
export interface VariableReading {
  name: string;
  doc: string;
  kind: 'text' | 'whole number' | 'true or false' | 'URL' | 'choice' | 'list' | 'secret' | 'named secrets';
  fallback?: unknown;
  isSecret?: true;
  values?: readonly string[];
  range?: { min: number; max: number };
}

/** A variable as a configuration reads it. */
export interface Variable extends Omit<VariableReading, 'isSecret'> {
  isSecret: boolean;
  /** Whether it has to be set, where it is read at all. */
  isRequired: boolean;
  /** Conditions on other variables under which it is read; value undefined: set to any value. */
  when: readonly { name: string; value: string | undefined }[];
}

interface Watcher {
  read(reading: VariableReading): void;
  switched(names: readonly string[]): void;
}

const watchers = new WeakMap<Environment, Watcher>();

/** The watcher of reads from an environment. */
export function watcherOf(env: Environment): Watcher | undefined {
  return watchers.get(env);
}

/** The placeholder value of variables that only need to be present. */
const ANYTHING = 'anything';

interface Found {
  reading: VariableReading;
  env: Environment;
}

/**
 * Every variable that a configuration reads, in the order in which it does. It is read again with each value of each
 * choice, and with each variable whose presence counts, so that nothing is missed that is read under a condition.
 */
export function describeVariables(readConfig: (env: Environment) => unknown): Variable[] {
  const found = new Map<string, Found>();
  const looks: { env: Environment; names: ReadonlySet<string> }[] = [];
  const waiting: Environment[] = [{}];
  for (let env = waiting.shift(); env !== undefined; env = waiting.shift()) {
    const { readings, switches } = look(readConfig, env);
    looks.push({ env, names: new Set(readings.map(({ name }) => name)) });
    for (const reading of readings.filter(({ name }) => !found.has(name))) {
      found.set(reading.name, { reading, env });
      const others = (reading.values ?? []).filter(
        (value) => value !== reading.fallback && !(reading.name in env),
      );
      for (const value of others) waiting.push({ ...env, [reading.name]: value });
    }
    for (const name of switches.filter((one) => !looks.some((seen) => one in seen.env)))
      waiting.push({ ...env, [name]: ANYTHING });
  }
  return [...found.values()].map(({ reading, env }) =>
    variableOf(reading, env, otherwiseUnread(reading, env)),
  );

  /** The choices that have to stay at their fallback for it to be read. */
  function otherwiseUnread({ name }: VariableReading, env: Environment): Variable['when'] {
    const names = looks
      .filter((seen) => !seen.names.has(name) && isOneStepFrom(seen.env, env))
      .map((seen) => Object.keys(seen.env).find((one) => !(one in env)) ?? '');
    return [...new Set(names)].map((one) => ({ name: one, value: String(found.get(one)?.reading.fallback) }));
  }
}

function look(readConfig: (env: Environment) => unknown, given: Environment) {
  const env = { ...given };
  const readings: VariableReading[] = [];
  const switches: string[] = [];
  watchers.set(env, {
    read: (reading) => readings.push(reading),
    switched: (names) => switches.push(...names),
  });
  try {
    readConfig(env);
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
  }
  return { readings, switches };
}

function variableOf(reading: VariableReading, env: Environment, unless: Variable['when']): Variable {
  const given = Object.entries(env).filter(([name]) => name !== reading.name);
  return {
    ...reading,
    isSecret: reading.isSecret === true,
    isRequired: reading.fallback === undefined && !(reading.name in env),
    when: [
      ...given.map(([name, value]) => ({ name, value: value === ANYTHING ? undefined : value })),
      ...unless,
    ],
  };
}

function isOneStepFrom(further: Environment, env: Environment): boolean {
  const names = Object.keys(further);
  return (
    names.length === Object.keys(env).length + 1 &&
    Object.entries(env).every(([name, value]) => further[name] === value)
  );
}

import { isIPv4 } from 'node:net';
import { ConfigError } from './config-error.ts';
import { type VariableReading, watcherOf } from './describe-variables.ts';
import type { Environment } from './environment.ts';

export interface AboutText extends AboutVariable<string> {
  /** Returns why a value is wrong, as a phrase that follows the variable's name, or undefined if it is right. */
  check?: (text: string) => string | undefined;
}

/** Description of a variable. */
export interface AboutVariable<Value> {
  /** Purpose as a phrase for operators, with units. */
  doc: string;
  /** Without one the variable has to be set. */
  fallback?: Value;
  /** The value must stay confidential, for example because it contains a password. */
  isSecret?: true;
}

export interface AboutInteger extends AboutVariable<number> {
  /** Inclusive. */
  min: number;
  /** Inclusive. */
  max: number;
}

interface AboutRead<Value> extends AboutVariable<Value> {
  kind: VariableReading['kind'];
  values?: readonly string[];
  range?: { min: number; max: number };
}

const SHORTEST_SECRET = 32;

/**
 * Reads typed values from an environment and collects what is wrong with them. An unset or empty variable without
 * fallback is a problem, and so is a value that does not parse: it never silently becomes the fallback. Methods give
 * a placeholder for a bad variable, so nothing read may be used before `done()` has returned.
 */
export class EnvReader {
  readonly #env: Environment;
  readonly #problems: string[] = [];

  constructor(env: Environment) {
    this.#env = env;
  }

  string(name: string, { check, ...about }: AboutText): string {
    return this.#read(name, { ...about, kind: 'text' }, '', (text) => {
      const reason = check?.(text);
      return reason === undefined ? text : this.#bad(reason);
    });
  }

  /** One `host:port`, or several `IPv4:port` parted by commas: the processes of one service. */
  addresses(name: string, about: AboutVariable<string>): string {
    return this.#read(name, { ...about, kind: 'text' }, '', (text) => {
      const addresses = text.split(',').map((address) => address.trim());
      const areNumbers = addresses.every((address) => {
        const [, host = '', port] = /^(.*):(\d{1,5})$/.exec(address) ?? [];
        return isIPv4(host) && Number(port) <= 65_535;
      });
      if (addresses.length > 1 && !areNumbers)
        return this.#bad('names several addresses, and not all are IPv4:port');
      return addresses.join(',');
    });
  }

  /** A whole decimal number within the bounds; the fallback is not checked against them. */
  integer(name: string, { min, max, ...about }: AboutInteger): number {
    return this.#read(name, { ...about, kind: 'whole number', range: { min, max } }, min, (text) => {
      const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? value : this.#bad(`is not a whole number from ${min} to ${max}`);
    });
  }

  /** `true` or `1`, `false` or `0`. */
  boolean(name: string, about: AboutVariable<boolean>): boolean {
    return this.#read(name, { ...about, kind: 'true or false' }, false, (text) => {
      if (text === 'true' || text === '1') return true;
      if (text === 'false' || text === '0') return false;
      return this.#bad('is neither true nor false');
    });
  }

  url(name: string, { fallback, ...about }: AboutVariable<string>): URL {
    const described = {
      ...about,
      kind: 'URL' as const,
      ...(fallback === undefined ? {} : { fallback: new URL(fallback) }),
    };
    return this.#read(name, described, new URL('invalid:'), (text) =>
      URL.canParse(text) ? new URL(text) : this.#bad('is not a URL'),
    );
  }

  choice<const Value extends string>(
    name: string,
    values: readonly [Value, ...Value[]],
    about: AboutVariable<Value>,
  ): Value {
    return this.#read(
      name,
      { ...about, kind: 'choice', values },
      values[0],
      (text) => values.find((value) => value === text) ?? this.#bad(`is none of ${values.join(', ')}`),
    );
  }

  /** Values parted by commas, spaces around them dropped, empty ones left out. */
  list(name: string, about: AboutVariable<readonly string[]>): readonly string[] {
    return this.#read(name, { ...about, kind: 'list' }, [], (text) =>
      text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    );
  }

  /** A secret of at least 32 characters; it has no fallback, and its value is never part of a message. */
  secret(name: string, { doc }: { doc: string }): string {
    return this.#read(name, { doc, isSecret: true, kind: 'secret' }, '', (text) =>
      text.length >= SHORTEST_SECRET ? text : this.#bad(`is shorter than ${SHORTEST_SECRET} characters`),
    );
  }

  /** Secrets by the name before each: `gateway=…,packages=…`. As with `secret`, no value is part of a message. */
  namedSecrets(name: string, { doc }: { doc: string }): ReadonlyMap<string, string> {
    return this.#read(name, { doc, isSecret: true, kind: 'named secrets' }, new Map(), (text) => {
      const pairs = text.split(',').map((pair) => pair.trim().split(/=(.*)/s, 2) as [string, string?]);
      const isWrong = ([key, secret = '']: [string, string?]) =>
        key === '' || secret.length < SHORTEST_SECRET;
      const wrong = pairs.findIndex(isWrong);
      if (wrong !== -1)
        return this.#bad(`has no name with a secret of ${SHORTEST_SECRET} characters at place ${wrong + 1}`);
      const secrets = new Map(pairs as [string, string][]);
      return secrets.size === pairs.length ? secrets : this.#bad('has a name twice');
    });
  }

  /** The result of `read` if any of the variables is set; otherwise undefined. */
  whenSet<Value>(names: readonly [string, ...string[]], read: () => Value): Value | undefined {
    watcherOf(this.#env)?.switched(names);
    return names.some((name) => this.#isSet(name)) ? read() : undefined;
  }

  /** @throws ConfigError naming every problem found so far */
  done(): void {
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
  }

  #isSet(name: string): boolean {
    return (this.#env[name] ?? '') !== '';
  }

  #read<Value>(
    name: string,
    about: AboutRead<Value>,
    placeholder: Value,
    parse: (text: string) => Value | Bad,
  ): Value {
    watcherOf(this.#env)?.read({ name, ...about });
    const text = this.#env[name];
    if (text === undefined || text === '') {
      if (about.fallback !== undefined) return about.fallback;
      this.#problems.push(`${name} is not set`);
      return placeholder;
    }
    const value = parse(text);
    if (!(value instanceof Bad)) return value;
    this.#problems.push(`${name} ${value.reason}`);
    return placeholder;
  }

  #bad(reason: string): Bad {
    return new Bad(reason);
  }
}

class Bad {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

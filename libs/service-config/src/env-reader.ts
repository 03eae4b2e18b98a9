import { ConfigError } from './config-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface IntegerOptions {
  fallback?: number;
  /** Inclusive. */
  min: number;
  /** Inclusive. */
  max: number;
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

  string(name: string, fallback?: string): string {
    return this.#read(name, fallback, '', (text) => text);
  }

  /** A whole decimal number within the bounds; the fallback is not checked against them. */
  integer(name: string, { fallback, min, max }: IntegerOptions): number {
    return this.#read(name, fallback, min, (text) => {
      const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? value : this.#bad(`is not a whole number from ${min} to ${max}`);
    });
  }

  /** `true` or `1`, `false` or `0`. */
  boolean(name: string, fallback?: boolean): boolean {
    return this.#read(name, fallback, false, (text) => {
      if (text === 'true' || text === '1') return true;
      if (text === 'false' || text === '0') return false;
      return this.#bad('is neither true nor false');
    });
  }

  url(name: string, fallback?: string): URL {
    const placeholder = new URL('invalid:');
    return this.#read(name, fallback === undefined ? undefined : new URL(fallback), placeholder, (text) =>
      URL.canParse(text) ? new URL(text) : this.#bad('is not a URL'),
    );
  }

  choice<const Value extends string>(
    name: string,
    values: readonly [Value, ...Value[]],
    fallback?: Value,
  ): Value {
    return this.#read(
      name,
      fallback,
      values[0],
      (text) => values.find((value) => value === text) ?? this.#bad(`is none of ${values.join(', ')}`),
    );
  }

  /** Values parted by commas, spaces around them dropped, empty ones left out. */
  list(name: string, fallback?: readonly string[]): readonly string[] {
    return this.#read(name, fallback, [], (text) =>
      text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    );
  }

  /** A secret of at least 32 characters; it has no fallback, and its value is never part of a message. */
  secret(name: string): string {
    return this.#read(name, undefined, '', (text) =>
      text.length >= SHORTEST_SECRET ? text : this.#bad(`is shorter than ${SHORTEST_SECRET} characters`),
    );
  }

  /** Secrets by the name before each: `gateway=…,packages=…`. As with `secret`, no value is part of a message. */
  namedSecrets(name: string): ReadonlyMap<string, string> {
    return this.#read(name, undefined, new Map(), (text) => {
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

  /** @throws ConfigError naming every problem found so far */
  done(): void {
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
  }

  #read<Value>(
    name: string,
    fallback: Value | undefined,
    placeholder: Value,
    parse: (text: string) => Value | Bad,
  ): Value {
    const text = this.#env[name];
    if (text === undefined || text === '') {
      if (fallback !== undefined) return fallback;
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

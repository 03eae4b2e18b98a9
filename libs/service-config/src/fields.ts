import { isIPv4 } from 'node:net';
import { z } from 'zod';

/** Description of a variable. */
export interface About<Value> {
  /** Purpose as a phrase for operators, with units. */
  doc: string;
  /** Value of an unset variable; without one the variable is required. */
  fallback?: Value;
  /** The value must stay confidential, for example because it contains a password. */
  isSecret?: true;
  /** Returns the problem of a value, as a phrase that follows the variable's name. */
  check?: (value: Value) => string | undefined;
}

/** Content of a row of the page of variables. */
export interface FieldMeta extends Omit<About<unknown>, 'check'> {
  kind: 'text' | 'whole number' | 'true or false' | 'URL' | 'choice' | 'list' | 'secret' | 'named secrets';
  values?: readonly string[];
  range?: { min: number; max: number };
}

const metas = z.registry<FieldMeta>();

export function metaOf(field: z.ZodType): FieldMeta {
  const meta = metas.get(field);
  if (meta === undefined) throw new TypeError('this schema was not made by a function of fields.ts');
  return meta;
}

function field<Value>(
  type: z.ZodType<Value>,
  { check, ...meta }: Omit<FieldMeta, 'fallback'> & About<Value>,
): z.ZodType<Value> {
  const { fallback } = meta;
  const schema = type.superRefine((value, context) => {
    const message = check?.(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
  const described =
    fallback === undefined ? schema : z.optional(schema).transform((value) => value ?? fallback);
  return described.register(metas, meta);
}

/** The same variable, undefined when it is not set. */
export function optional<Value>(schema: z.ZodType<Value>): z.ZodType<Value | undefined> {
  return schema.optional().register(metas, metaOf(schema));
}

export function text(about: About<string>): z.ZodType<string> {
  return field(z.string(), { ...about, kind: 'text' });
}

/** A whole decimal number from `min` to `max`. */
export function integer({
  min,
  max,
  ...about
}: About<number> & { min: number; max: number }): z.ZodType<number> {
  const rule = `is not a whole number from ${min} to ${max}`;
  const schema = z
    .string()
    .regex(/^-?\d+$/, rule)
    .transform(Number)
    .pipe(z.number().min(min, rule).max(max, rule));
  return field(schema, { ...about, kind: 'whole number', range: { min, max } });
}

/** `true` or `1`, `false` or `0`. */
export function boolean(about: About<boolean>): z.ZodType<boolean> {
  const schema = z.stringbool({
    truthy: ['true', '1'],
    falsy: ['false', '0'],
    case: 'sensitive',
    error: 'is neither true nor false',
  });
  return field(schema, { ...about, kind: 'true or false' });
}

export function url(about: About<URL>): z.ZodType<URL> {
  const schema = z
    .string()
    .refine((value) => URL.canParse(value), 'is not a URL')
    .transform((value) => new URL(value));
  return field(schema, { ...about, kind: 'URL' });
}

export function oneOf<const Value extends string>(
  values: readonly [Value, ...Value[]],
  about: About<Value>,
): z.ZodType<Value> {
  const schema = z.enum(values, `is none of ${values.join(', ')}`) as z.ZodType<Value>;
  return field(schema, { ...about, kind: 'choice', values });
}

/** Values separated by commas; surrounding spaces and empty values are dropped. */
export function list(about: About<readonly string[]>): z.ZodType<readonly string[]> {
  const schema = z.string().transform((value) => splitAtCommas(value).filter((item) => item !== ''));
  return field(schema, { ...about, kind: 'list' });
}

const MIN_SECRET_LENGTH = 32;
const TOO_SHORT = `is shorter than ${MIN_SECRET_LENGTH} characters`;

/** A secret of at least 32 characters. Messages do not contain its value. */
export function secret({ doc }: { doc: string }): z.ZodType<string> {
  return field(z.string().min(MIN_SECRET_LENGTH, TOO_SHORT), { doc, isSecret: true, kind: 'secret' });
}

/** Secrets by name: `gateway=…,packages=…`. Messages do not contain their values. */
export function namedSecrets({ doc }: { doc: string }): z.ZodType<ReadonlyMap<string, string>> {
  const schema = z.string().transform((value, context) => {
    const pairs = splitAtCommas(value).map((pair) => pair.split(/=(.*)/s, 2) as [string, string?]);
    const wrong = pairs.findIndex(([name, key = '']) => name === '' || key.length < MIN_SECRET_LENGTH);
    const secrets = new Map(pairs as [string, string][]);
    if (wrong !== -1)
      context.addIssue(`has no name with a secret of ${MIN_SECRET_LENGTH} characters at place ${wrong + 1}`);
    else if (secrets.size < pairs.length) context.addIssue('has a name twice');
    return secrets;
  });
  return field(schema, { doc, isSecret: true, kind: 'named secrets' });
}

/** One `host:port`, or several `IPv4:port` separated by commas: the processes of one service. */
export function addresses(about: About<string>): z.ZodType<string> {
  const schema = z
    .string()
    .transform(splitAtCommas)
    .refine(
      (all) => all.length === 1 || all.every(isIPv4WithPort),
      'names several addresses, and not all are IPv4:port',
    )
    .transform((all) => all.join(','));
  return field(schema, { ...about, kind: 'text' });
}

function isIPv4WithPort(address: string): boolean {
  const [, host = '', port] = /^(.*):(\d{1,5})$/.exec(address) ?? [];
  return isIPv4(host) && Number(port) <= 65_535;
}

function splitAtCommas(value: string): string[] {
  return value.split(',').map((item) => item.trim());
}

import { z } from 'zod';
import { ConfigError } from './config-error.ts';
import type { Environment } from './environment.ts';
import { type FieldMeta, metaOf, oneOf } from './fields.ts';

/** A variable of a configuration, as the page of variables shows it. */
export interface Variable extends Omit<FieldMeta, 'isSecret'> {
  name: string;
  isSecret: boolean;
  /** Title of its table on the page of variables. */
  title?: string;
  /** It must be set if it is read. */
  isRequired: boolean;
  /** Conditions on other variables under which it is read; value undefined: set to any value. */
  when: readonly { name: string; value: string | undefined }[];
}

/** Variables that are read together. */
export interface Section<Values> {
  /** Appends to `problems`; then the values are undefined. */
  read(env: Environment, problems: string[]): Values;
  describe(): Variable[];
}

type Shape = Readonly<Record<string, z.ZodType>>;
type Sections = Readonly<Record<string, Section<unknown>>>;
type ValuesOf<Each extends Sections> = {
  [Name in keyof Each]: Each[Name] extends Section<infer Values> ? Values : never;
};

/** `check` returns problems between valid values. */
export function variables<Fields extends Shape>(
  fields: Fields,
  check: (values: z.output<z.ZodObject<Fields>>) => readonly string[] = () => [],
): Section<z.output<z.ZodObject<Fields>>> {
  const schema = z.object(fields);
  return {
    read: (env, problems) => {
      const set = Object.fromEntries(
        Object.keys(fields).map((name) => [name, env[name] === '' ? undefined : env[name]]),
      );
      const { success, data, error } = schema.safeParse(set);
      if (success) problems.push(...check(data));
      else problems.push(...error.issues.map((issue) => problemOf(issue, set)));
      return data as z.output<typeof schema>;
    },
    describe: () =>
      Object.entries(fields).map(([name, field]) => ({
        ...metaOf(field),
        name,
        isSecret: metaOf(field).isSecret === true,
        isRequired: !field.safeParse(undefined).success,
        when: [],
      })),
  };
}

function problemOf({ path, message }: z.core.$ZodIssue, set: Environment): string {
  const name = String(path[0]);
  return `${name} ${set[name] === undefined ? 'is not set' : message}`;
}

/** Has a separate table on the page of variables. */
export function titled<Values>(title: string, { read, describe }: Section<Values>): Section<Values> {
  return { read, describe: () => describe().map((variable) => ({ ...variable, title })) };
}

/** Undefined unless the first or another variable of `triggers` is set. */
export function whenSet<Values>(
  triggers: readonly [string, ...string[]],
  section: Section<Values>,
): Section<Values | undefined> {
  const [first] = triggers;
  return {
    read: (env, problems) => (triggers.some((name) => env[name]) ? section.read(env, problems) : undefined),
    describe: () =>
      section
        .describe()
        .map((variable) =>
          variable.name === first
            ? { ...variable, isRequired: false }
            : under({ name: first, value: undefined }, variable),
        ),
  };
}

/** A variable whose value decides which others are read. */
export function choice<Options extends Sections>(
  name: string,
  options: Options,
  { doc, fallback }: { doc: string; fallback: keyof Options & string },
): Section<{ [Kind in keyof Options]: { kind: Kind } & ValuesOf<Options>[Kind] }[keyof Options]> {
  const kinds = Object.keys(options) as [string, ...string[]];
  const chosen = variables({ [name]: oneOf(kinds, { doc, fallback }) });
  return {
    read: (env, problems) => {
      const kind = String(chosen.read(env, problems)?.[name]);
      return { kind, ...(options[kind]?.read(env, problems) as object) } as never;
    },
    describe: () => [
      ...chosen.describe(),
      ...Object.entries(options).flatMap(([value, section]) =>
        section.describe().map((variable) => under({ name, value }, variable)),
      ),
    ],
  };
}

function under(condition: Variable['when'][number], variable: Variable): Variable {
  return { ...variable, when: [condition, ...variable.when] };
}

export function group<Each extends Sections>(sections: Each): Section<ValuesOf<Each>> {
  return {
    read: (env, problems) =>
      Object.fromEntries(
        Object.entries(sections).map(([name, section]) => [name, section.read(env, problems)]),
      ) as ValuesOf<Each>,
    describe: () => Object.values(sections).flatMap((section) => section.describe()),
  };
}

/** @throws ConfigError naming every problem found */
export function readEnvironment<Values>(env: Environment, section: Section<Values>): Values {
  const problems: string[] = [];
  const values = section.read(env, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return values;
}

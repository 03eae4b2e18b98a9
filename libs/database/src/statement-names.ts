import { createHash } from 'node:crypto';

/** A session option: a named statement is planned once and not again for each set of values. */
export const ONE_PLAN = '-c plan_cache_mode=force_generic_plan';

/** The name of a statement by its text; empty for one that is not to be kept. */
export type StatementNames = (query: { sql: string }) => string;

/** Prepared statements use memory of each connection, and texts built at run time may be unbounded. */
const MOST_NAMES = 200;

/** Gives each text its name, the same in every process: for the `statementNameGenerator` of Prisma's adapter. */
export function statementNames(): StatementNames {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= MOST_NAMES) return '';
    const name = createHash('sha256').update(sql).digest('base64url').slice(0, 24);
    names.set(sql, name);
    return name;
  };
}

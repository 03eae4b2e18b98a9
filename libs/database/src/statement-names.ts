import { createHash } from 'node:crypto';

/** A session option: a named statement is planned once and not again for each set of values. */
export const ONE_PLAN = '-c plan_cache_mode=force_generic_plan';

/** The name of a statement by its text; empty for one that is not prepared. */
export type StatementNames = (query: { sql: string }) => string;

/** Prepared statements use memory of each connection, and texts built at run time may be unbounded. */
const MAX_NAMES = 200;

/** Gives each text its name, the same in every process: for the `statementNameGenerator` of Prisma's adapter. */
export function statementNames(): StatementNames {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const existing = names.get(sql);
    if (existing !== undefined) return existing;
    if (names.size >= MAX_NAMES) return '';
    const name = createHash('sha256').update(sql).digest('base64url').slice(0, 24);
    names.set(sql, name);
    return name;
  };
}

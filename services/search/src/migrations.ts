import { join } from 'node:path';

/** The tables of this service, for `migrate` of `@kr/schema-migration`. */
export const SEARCH_MIGRATIONS = {
  name: 'search',
  directory: join(import.meta.dirname, '..', 'migrations'),
} as const;

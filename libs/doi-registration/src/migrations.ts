import { join } from 'node:path';

/** The table of this library, for `migrate` of `@kr/schema-migration`, after that of the lifecycle: `doi_registration`. */
export const MIGRATIONS = {
  name: 'doi_registration',
  directory: join(import.meta.dirname, '..', 'migrations'),
} as const;

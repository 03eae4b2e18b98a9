import { join } from 'node:path';

/** The table of this library, for `migrate` of `@kr/schema-migration`: `audit_entry`. */
export const MIGRATIONS = {
  name: 'audit_trail',
  directory: join(import.meta.dirname, '..', 'migrations'),
} as const;

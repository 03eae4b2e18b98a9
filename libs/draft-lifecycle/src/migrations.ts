import { fileURLToPath } from 'node:url';

/** The tables of the lifecycle, for `migrate` of `@kr/schema-migration`; a service runs it before its own set. */
export const MIGRATIONS = {
  name: 'draft_lifecycle',
  directory: fileURLToPath(new URL('../migrations', import.meta.url)),
};

import { join } from 'node:path';

/** The tables of this library, for `migrate` of `@kr/schema-migration`: `outbox`, `dead_letter`, `consumer_position`. */
export const MIGRATIONS = {
  name: 'event_bus',
  directory: join(import.meta.dirname, '..', 'migrations'),
} as const;

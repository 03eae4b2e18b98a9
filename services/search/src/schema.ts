import { join } from 'node:path';
import { MIGRATIONS as EVENT_BUS } from '@kr/event-bus';
import type { MigrationSet } from '@kr/schema-migration';

const OWN: MigrationSet = { name: 'search', directory: join(import.meta.dirname, '..', 'migrations') };

/** All the tables of this service's database, in the order of their creation. */
export const SCHEMA: readonly MigrationSet[] = [EVENT_BUS, OWN];

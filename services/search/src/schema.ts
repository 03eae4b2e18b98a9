import { MIGRATIONS as EVENT_BUS } from '@kr/event-bus';
import type { MigrationSet } from '@kr/schema-migration';
import { SEARCH_MIGRATIONS } from './migrations.ts';

/** All the tables of this service's database, in the order in which they are made. */
export const SCHEMA: readonly MigrationSet[] = [EVENT_BUS, SEARCH_MIGRATIONS];

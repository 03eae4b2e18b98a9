import { join } from 'node:path';
import type { MigrationSet } from '@kr/schema-migration';

const OWN: MigrationSet = { name: 'gateway', directory: join(import.meta.dirname, '..', 'migrations') };

/** All the tables of this service's database, in the order in which they are made. */
export const SCHEMA: readonly MigrationSet[] = [OWN];

import { join } from 'node:path';
import { MIGRATIONS as AUDIT_TRAIL } from '@kr/audit-trail';
import { MIGRATIONS as EVENT_BUS } from '@kr/event-bus';
import type { MigrationSet } from '@kr/schema-migration';

const OWN: MigrationSet = { name: 'access_links', directory: join(import.meta.dirname, '..', 'migrations') };

/** All tables of this service's database, in the order of creation. */
export const SCHEMA: readonly MigrationSet[] = [EVENT_BUS, AUDIT_TRAIL, OWN];

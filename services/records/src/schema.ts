import { join } from 'node:path';
import { MIGRATIONS as AUDIT_TRAIL } from '@kr/audit-trail';
import { MIGRATIONS as DOI_REGISTRATION } from '@kr/doi-registration';
import { MIGRATIONS as LIFECYCLE } from '@kr/draft-lifecycle';
import { MIGRATIONS as EVENT_BUS } from '@kr/event-bus';
import type { MigrationSet } from '@kr/schema-migration';

const OWN: MigrationSet = { name: 'records', directory: join(import.meta.dirname, '..', 'migrations') };

/** All the tables of this service's database, in the order in which they are made. */
export const SCHEMA: readonly MigrationSet[] = [EVENT_BUS, AUDIT_TRAIL, LIFECYCLE, DOI_REGISTRATION, OWN];

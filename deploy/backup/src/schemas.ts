import type { ServiceName } from '@kr/local-stack';
import type { MigrationSet } from '@kr/schema-migration';
import { SCHEMA as ACCESS_LINKS } from '../../../services/access-links/src/schema.ts';
import { SCHEMA as FILES } from '../../../services/files/src/schema.ts';
import { SCHEMA as GATEWAY } from '../../../services/gateway/src/schema.ts';
import { SCHEMA as PACKAGES } from '../../../services/packages/src/schema.ts';
import { SCHEMA as RECORDS } from '../../../services/records/src/schema.ts';
import { SCHEMA as SEARCH } from '../../../services/search/src/schema.ts';

/** The tables of each service's database, as this release makes them. */
export const SCHEMAS: Record<ServiceName, readonly MigrationSet[]> = {
  gateway: GATEWAY,
  records: RECORDS,
  packages: PACKAGES,
  files: FILES,
  'access-links': ACCESS_LINKS,
  search: SEARCH,
};

import { SCHEMA as ACCESS_LINKS } from '@kr/access-links-service/schema';
import { SCHEMA as FILES } from '@kr/files-service/schema';
import { SCHEMA as GATEWAY } from '@kr/gateway-service/schema';
import type { ServiceName } from '@kr/local-stack';
import { SCHEMA as PACKAGES } from '@kr/packages-service/schema';
import { SCHEMA as RECORDS } from '@kr/records-service/schema';
import type { MigrationSet } from '@kr/schema-migration';
import { SCHEMA as SEARCH } from '@kr/search-service/schema';

/** The tables of each service's database, as this release makes them. */
export const SCHEMAS: Record<ServiceName, readonly MigrationSet[]> = {
  gateway: GATEWAY,
  records: RECORDS,
  packages: PACKAGES,
  files: FILES,
  'access-links': ACCESS_LINKS,
  search: SEARCH,
};

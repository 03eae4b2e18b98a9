import type { AccessLinksServiceDefinition } from './gen/knowledge/accesslinks/v1/AccessLinksService.ts';
import type { DoisServiceDefinition } from './gen/knowledge/dois/v1/DoisService.ts';
import type { DeadLettersServiceDefinition } from './gen/knowledge/events/v1/DeadLettersService.ts';
import type { FilesOperationsServiceDefinition } from './gen/knowledge/files/v1/FilesOperationsService.ts';
import type { FilesServiceDefinition } from './gen/knowledge/files/v1/FilesService.ts';
import type { IdentityServiceDefinition } from './gen/knowledge/identity/v1/IdentityService.ts';
import type { LifecycleServiceDefinition } from './gen/knowledge/lifecycle/v1/LifecycleService.ts';
import type { PackagesServiceDefinition } from './gen/knowledge/packages/v1/PackagesService.ts';
import type { PublicationReportsServiceDefinition } from './gen/knowledge/packages/v1/PublicationReportsService.ts';
import type { PublicationsServiceDefinition } from './gen/knowledge/packages/v1/PublicationsService.ts';
import type { RecordsServiceDefinition } from './gen/knowledge/records/v1/RecordsService.ts';
import type { SearchServiceDefinition } from './gen/knowledge/search/v1/SearchService.ts';
import { loaded } from './loaded.ts';

export interface Definitions {
  accessLinks: AccessLinksServiceDefinition;
  deadLetters: DeadLettersServiceDefinition;
  dois: DoisServiceDefinition;
  files: FilesServiceDefinition;
  filesOperations: FilesOperationsServiceDefinition;
  identity: IdentityServiceDefinition;
  lifecycle: LifecycleServiceDefinition;
  packages: PackagesServiceDefinition;
  publicationReports: PublicationReportsServiceDefinition;
  publications: PublicationsServiceDefinition;
  records: RecordsServiceDefinition;
  search: SearchServiceDefinition;
}

/** The gRPC services of `proto/`, for `serve` and `createClient` of `@kr/rpc`. */
export const definitions: Definitions = {
  accessLinks: service('knowledge.accesslinks.v1.AccessLinksService'),
  deadLetters: service('knowledge.events.v1.DeadLettersService'),
  dois: service('knowledge.dois.v1.DoisService'),
  files: service('knowledge.files.v1.FilesService'),
  filesOperations: service('knowledge.files.v1.FilesOperationsService'),
  identity: service('knowledge.identity.v1.IdentityService'),
  lifecycle: service('knowledge.lifecycle.v1.LifecycleService'),
  packages: service('knowledge.packages.v1.PackagesService'),
  publicationReports: service('knowledge.packages.v1.PublicationReportsService'),
  publications: service('knowledge.packages.v1.PublicationsService'),
  records: service('knowledge.records.v1.RecordsService'),
  search: service('knowledge.search.v1.SearchService'),
};

// The loader does not know the generated types; a wrong name fails here, when the process starts.
function service<Definition>(name: string): Definition {
  const definition = loaded[name];
  if (definition === undefined) throw new Error(`proto/ has no service ${name}`);
  return definition as Definition;
}

import { fileURLToPath } from 'node:url';
import { loadSync, type PackageDefinition } from '@grpc/proto-loader';

// The options of the generated types (scripts/codegen.mjs); different ones here would make the types lie.
const LOADER_OPTIONS = { longs: String, enums: String, defaults: true, oneofs: true } as const;

const FILES = [
  'knowledge/accesslinks/v1/access_links.proto',
  'knowledge/dois/v1/dois.proto',
  'knowledge/events/v1/dead_letters.proto',
  'knowledge/events/v1/events.proto',
  'knowledge/files/v1/files.proto',
  'knowledge/identity/v1/identity.proto',
  'knowledge/lifecycle/v1/lifecycle.proto',
  'knowledge/packages/v1/packages.proto',
  'knowledge/records/v1/records.proto',
  'knowledge/rpc/v1/error.proto',
  'knowledge/search/v1/search.proto',
];

/** Every message and service of `proto/`, by full name. */
export const loaded: PackageDefinition = loadSync(FILES, {
  ...LOADER_OPTIONS,
  includeDirs: [fileURLToPath(new URL('../../../proto', import.meta.url))],
});

export { writePrivateFile, writePrivateJson } from './private-file.ts';
export { type AdminEndpoint, type AdminService, adminEndpoints } from './stack/admin-endpoint.ts';
export { busUsers } from './stack/bus-users.ts';
export type { CreatedUser } from './stack/create-user.ts';
export { dataFolder } from './stack/data-folder.ts';
export { databaseStatements, databaseUrl, dropDatabases } from './stack/databases.ts';
export { openStoppedStack, type StoppedStack } from './stack/open-stopped-stack.ts';
export type { PartName } from './stack/parts.ts';
export { AlreadyRunning } from './stack/process-list.ts';
export { type Caller, loadSecrets, type Secrets } from './stack/secrets.ts';
export { CALLS, serviceKeys } from './stack/service-environment.ts';
export {
  eachService,
  PROGRAMS,
  type ProgramName,
  SERVICES,
  type ServiceName,
} from './stack/service-names.ts';
export { serviceProgram } from './stack/service-program.ts';
export type { ServiceVariables, StackOptions } from './stack/stack-options.ts';
export { type RunningStack, startStack } from './stack/start-stack.ts';

export type { CreatedUser, IdentityAccess } from './stack/create-user.ts';
export { dropDatabases } from './stack/databases.ts';
export { AlreadyRunning } from './stack/process-list.ts';
export { SERVICES, type ServiceName } from './stack/service-names.ts';
export { type PartName, type RunningStack, type StackOptions, startStack } from './stack/start-stack.ts';

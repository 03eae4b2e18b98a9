export type { CreatedUser, OperatorDoor } from './stack/create-user.ts';
export { dropDatabases } from './stack/databases.ts';
export type { PartName } from './stack/parts.ts';
export { AlreadyRunning } from './stack/process-list.ts';
export { SERVICES, type ServiceName } from './stack/service-names.ts';
export type { ServiceVariables, StackOptions } from './stack/stack-options.ts';
export { type RunningStack, startStack } from './stack/start-stack.ts';

export { contractOf } from './contract-steps.ts';
export { type MigrateOptions, type MigrationLogger, migrate } from './migrate.ts';
export type { MigrationSet } from './migration-set.ts';
export { readSchemaFiles, readSchemaState, type SchemaState } from './schema-state.ts';

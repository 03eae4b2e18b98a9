export { type MigrateOptions, type MigrationLogger, type MigrationSet, migrate } from './migrate.ts';

import { armFailpoints } from '@kr/failpoint';
import { type MigrationSet, migrate } from '@kr/schema-migration';
import { type Environment, readDatabaseUrlAlone } from '@kr/service-config';
import { createLogger, type Logger } from '@kr/telemetry';

/** Runs a service in this process until SIGTERM or SIGINT. A signal during the start takes effect after it. */
export async function runService(
  name: string,
  env: Environment,
  start: (logger: Logger) => Promise<{ stop(): Promise<void> }>,
): Promise<void> {
  const logger = createLogger(name);
  armFailpoints(env['FAILPOINT'], logger);
  const starting = start(logger);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void starting.then((service) => service.stop()));
  }
  await starting;
}

/** Migrates the database of a service and returns; deployments run it before they replace processes. */
export async function runMigrations(
  name: string,
  env: Environment,
  sets: readonly MigrationSet[],
): Promise<void> {
  const logger = createLogger(name);
  await migrate({ databaseUrl: readDatabaseUrlAlone(env), sets, logger });
  logger.info('the schema is up to date');
}

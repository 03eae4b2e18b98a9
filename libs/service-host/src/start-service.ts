import { definitions } from '@kr/contracts';
import type { Sql } from '@kr/database';
import { type Consumer, deadLetterHandlers } from '@kr/event-bus';
import { type HealthOptions, startHealth } from '@kr/health';
import { type ServeOptions, type Server, serve } from '@kr/rpc';
import { type MigrationSet, migrate } from '@kr/schema-migration';
import type { ServiceConfig } from '@kr/service-config';
import type { Logger } from '@kr/telemetry';

export interface StartOptions {
  /** Name of the service in signed principals and logs. */
  name: string;
  config: ServiceConfig;
  /** Tables of the service's database, in the order of their creation. */
  schema: readonly MigrationSet[];
  logger: Logger;
}

/** Everything a service opens after its database was migrated. */
export interface ServiceParts<Served extends readonly object[], Ports = object> {
  /** RPC tables. A service with consumers also serves their dead letters. */
  services: ServeOptions<Served>['services'];
  /** Readiness requires an answer of this database. */
  database: Sql;
  /** Further checks that readiness requires. */
  checks?: HealthOptions['checks'];
  /** Checks that the readiness page shows and does not require. */
  informationalChecks?: HealthOptions['informationalChecks'];
  consumers?: readonly Consumer[];
  /** Stopped together with the servers and consumers. */
  background?: readonly { stop(): unknown }[];
  /** Ports of further servers, by their name in the log. */
  ports?: Ports;
  /** Closes connections, after all of the above have stopped. */
  close(): Promise<void>;
}

export interface RunningService<Ports = object> {
  grpcPort: number;
  healthPort: number;
  /** Ports of further servers. */
  ports: Ports;
  /** Refuses new work, finishes running work, closes connections. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Migrates the database, opens the service, serves its RPCs and its health.
 *
 * @throws Error when the database is unavailable, a migration fails or a port cannot be bound
 */
export async function startService<const Served extends readonly object[], Ports extends object = object>(
  { name, config, schema, logger }: StartOptions,
  open: () => Promise<ServiceParts<Served, Ports>>,
): Promise<RunningService<Ports>> {
  await migrate({ databaseUrl: config.databaseUrl, sets: schema, logger });
  const parts = await open();
  const { database, consumers = [], background = [] } = parts;
  const servers: { stop(): unknown }[] = [];
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    await Promise.all([...servers, ...consumers, ...background].map((part) => part.stop()));
    await parts.close();
  };
  try {
    const grpc = await serveAll(parts, { name, config, logger });
    servers.push(grpc);
    const health = await startHealth({
      host: config.grpcHost,
      port: config.healthPort,
      checks: {
        database: async () => void (await database.$queryRawUnsafe('select 1')),
        ...parts.checks,
      },
      ...(parts.informationalChecks && { informationalChecks: parts.informationalChecks }),
    });
    servers.push(health);
    logger.info({ grpc_port: grpc.port, health_port: health.port, ...parts.ports }, 'ready');
    return {
      grpcPort: grpc.port,
      healthPort: health.port,
      ports: parts.ports ?? ({} as Ports),
      stop: () => {
        stopping ??= stop();
        return stopping;
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function serveAll<Served extends readonly object[]>(
  { services, database, consumers = [] }: ServiceParts<Served>,
  { name, config, logger }: Omit<StartOptions, 'schema'>,
): Promise<Server> {
  const deadLetters = {
    definition: definitions.deadLetters,
    handlers: deadLetterHandlers({ database, consumers }),
    callers: { operator: 'all' },
  } as const;
  return serve({
    services: consumers.length === 0 ? services : [...services, deadLetters],
    host: config.grpcHost,
    port: config.grpcPort,
    audience: name,
    callerKeys: config.callerKeys,
    logger,
  } as ServeOptions<Served>);
}

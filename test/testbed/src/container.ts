import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';

/** Asks testcontainers whether Docker or a like runtime answers. */
export function hasContainerRuntime(): Promise<boolean> {
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
}

/** Starts Postgres 18 in a container; resolves with its superuser URL. */
export async function startPostgresContainer(): Promise<{ url: string; stop(): Promise<void> }> {
  const container = await new GenericContainer('postgres:18')
    .withEnvironment({ POSTGRES_PASSWORD: 'test' })
    .withExposedPorts(5432)
    .withCommand(['postgres', '-c', 'fsync=off', '-c', 'max_connections=300'])
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
    .start();
  return {
    url: `postgresql://postgres:test@${container.getHost()}:${container.getMappedPort(5432)}/postgres`,
    stop: () => container.stop().then(() => undefined),
  };
}

/** Starts NATS with JetStream in a container. */
export async function startNatsContainer(): Promise<{ url: string; stop(): Promise<void> }> {
  const container = await new GenericContainer('nats:2.15')
    .withExposedPorts(4222)
    .withCommand(['--jetstream'])
    .withWaitStrategy(Wait.forLogMessage(/Server is ready/))
    .start();
  return {
    url: `nats://${container.getHost()}:${container.getMappedPort(4222)}`,
    stop: () => container.stop().then(() => undefined),
  };
}

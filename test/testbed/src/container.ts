import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';

/** Whether testcontainers finds Docker or a compatible runtime. */
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
    .withCommand(['postgres', '-c', 'fsync=off', '-c', 'max_connections=600'])
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

/** Starts VersityGW in a container. */
export async function startS3Container(access: {
  accessKeyId: string;
  secretAccessKey: string;
}): Promise<{ endpoint: URL; stop(): Promise<void> }> {
  const container = await new GenericContainer('versity/versitygw:v1.8.0')
    .withEnvironment({ ROOT_ACCESS_KEY: access.accessKeyId, ROOT_SECRET_KEY: access.secretAccessKey })
    .withExposedPorts(7070)
    .withTmpFs({ '/objects': 'rw', '/marks': 'rw' })
    .withCommand(['--port', ':7070', '--health', '/health', 'posix', '--sidecar', '/marks', '/objects'])
    .withWaitStrategy(Wait.forHttp('/health', 7070))
    .start();
  return {
    endpoint: new URL(`http://${container.getHost()}:${container.getMappedPort(7070)}`),
    stop: () => container.stop().then(() => undefined),
  };
}

/** Starts Elasticsearch in a container, which testcontainers removes when this process has ended. */
export async function startElasticsearchContainer(): Promise<{ url: string }> {
  const container = await new GenericContainer('docker.elastic.co/elasticsearch/elasticsearch:9.5.3')
    .withEnvironment({
      'discovery.type': 'single-node',
      'xpack.security.enabled': 'false',
      ES_JAVA_OPTS: '-Xms512m -Xmx512m',
    })
    .withExposedPorts(9200)
    .withWaitStrategy(Wait.forHttp('/', 9200))
    .withStartupTimeout(300_000)
    .start();
  return { url: `http://${container.getHost()}:${container.getMappedPort(9200)}` };
}

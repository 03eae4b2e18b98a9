import { busUsers, type Secrets } from '@kr/local-stack';

/**
 * The `authorization` block of a NATS server (or of the account that the system has there): a user for each service with
 * just its rights, and the operator.
 */
export function busAuthorization({ busPasswords }: Secrets): string {
  return `authorization: ${JSON.stringify({ users: busUsers(busPasswords) }, undefined, 2)}\n`;
}

/** The whole configuration of a single server that a deployment brings along, its streams below `/data`. */
export function busConfiguration(secrets: Secrets): string {
  const head = [
    'port: 4222',
    'http: 8222',
    'max_payload: 1MB',
    'jetstream { store_dir: "/data", max_memory_store: 64MB, max_file_store: 8GB, sync_interval: always }',
  ];
  return `${head.join('\n')}\n${busAuthorization(secrets)}`;
}

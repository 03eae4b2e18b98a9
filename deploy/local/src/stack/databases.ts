import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import { eachService, SERVICES, type ServiceName } from './service-names.ts';

/**
 * Creates one database for each service, owned by a role without access to the others.
 * May be repeated: existing ones stay, the passwords are set again.
 */
export async function ensureDatabases(
  adminUrl: string,
  prefix: string,
  passwords: Record<ServiceName, string>,
): Promise<Record<ServiceName, string>> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ datname: string }>('SELECT datname FROM pg_database');
    const present = new Set(rows.map(({ datname }) => datname));
    for (const service of SERVICES) {
      const name = databaseName(prefix, service);
      if (!present.has(name)) await createDatabase(client, name, passwords[service]);
    }
  } finally {
    await client.end();
  }
  return eachService((service) => databaseUrl(adminUrl, prefix, service, passwords[service]));
}

/** Removes what {@link ensureDatabases} made. */
export async function dropDatabases(adminUrl: string, prefix: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    for (const service of SERVICES) {
      const name = escapeIdentifier(databaseName(prefix, service));
      await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await client.query(`DROP ROLE IF EXISTS ${name}`);
    }
  } finally {
    await client.end();
  }
}

async function createDatabase(client: Client, name: string, password: string): Promise<void> {
  const existing = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [name]);
  const verb = existing.rowCount === 0 ? 'CREATE' : 'ALTER';
  for (const statement of statementsFor(name, password, verb)) await client.query(statement);
}

/** Statements that create a service's database and its role. */
export function databaseStatements(prefix: string, service: ServiceName, password: string): string[] {
  return statementsFor(databaseName(prefix, service), password, 'CREATE');
}

function statementsFor(name: string, password: string, verb: 'CREATE' | 'ALTER'): string[] {
  const identifier = escapeIdentifier(name);
  return [
    `${verb} ROLE ${identifier} LOGIN PASSWORD ${escapeLiteral(password)}`,
    `CREATE DATABASE ${identifier} OWNER ${identifier} TEMPLATE template0`,
    `REVOKE CONNECT ON DATABASE ${identifier} FROM PUBLIC`,
  ];
}

function databaseName(prefix: string, service: ServiceName): string {
  return `${prefix}_${service.replaceAll('-', '_')}`;
}

/** Of the service's own database on the server of a URL. */
export function databaseUrl(server: string, prefix: string, service: ServiceName, password: string): string {
  const name = databaseName(prefix, service);
  const url = new URL(server);
  url.username = name;
  url.password = password;
  url.pathname = `/${name}`;
  return url.href;
}

import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import { eachService, SERVICES, type ServiceName } from './service-names.ts';

/**
 * Makes one database for each service, owned by a role of its own that may enter no other.
 * May be repeated: what exists stays, the passwords are set again.
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
  return eachService((service) => urlOf(adminUrl, databaseName(prefix, service), passwords[service]));
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
  const identifier = escapeIdentifier(name);
  const known = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [name]);
  const verb = known.rowCount === 0 ? 'CREATE' : 'ALTER';
  await client.query(`${verb} ROLE ${identifier} LOGIN PASSWORD ${escapeLiteral(password)}`);
  await client.query(`CREATE DATABASE ${identifier} OWNER ${identifier} TEMPLATE template0`);
  await client.query(`REVOKE CONNECT ON DATABASE ${identifier} FROM PUBLIC`);
}

function databaseName(prefix: string, service: ServiceName): string {
  return `${prefix}_${service.replaceAll('-', '_')}`;
}

function urlOf(adminUrl: string, name: string, password: string): string {
  const url = new URL(adminUrl);
  url.username = name;
  url.password = password;
  url.pathname = `/${name}`;
  return url.href;
}

import { databaseStatements, SERVICES, type Secrets } from '@kr/local-stack';
import { DATABASE_PREFIX } from './backends.ts';

/** For a superuser of a server that has none of it yet: each service's database and role. One statement a line. */
export function databaseScript({ databasePasswords }: Secrets, prefix = DATABASE_PREFIX): string {
  const statements = SERVICES.flatMap((service) =>
    databaseStatements(prefix, service, databasePasswords[service]),
  );
  return statements.map((statement) => `${statement};\n`).join('');
}

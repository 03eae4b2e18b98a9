import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadSecrets, PROGRAMS, writePrivateFile } from '@kr/local-stack';
import { type Backends, BUCKET } from './backends.ts';
import { busConfiguration } from './bus-authorization.ts';
import { databaseScript } from './database-script.ts';
import { operatorRuntime } from './operator-folder.ts';
import { serviceSecrets } from './service-secrets.ts';

const BACKENDS: Backends = { postgres: 'postgres://postgres:5432', nats: 'nats://nats:4222' };

/**
 * Writes what `compose.yaml` takes its secrets from: `<service>.env`, and the same for the servers. May be repeated: what
 * was made before stays.
 */
export async function writeComposeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o700);
  const secrets = await loadSecrets(join(folder, 'secrets.json'));
  const store = await storeVariables(join(folder, 'object-store.env'));
  for (const service of PROGRAMS) {
    const variables = {
      ...serviceSecrets(service, secrets, BACKENDS),
      ...(service === 'files' ? s3Variables(store) : {}),
    };
    await writePrivateFile(join(folder, `${service}.env`), lines(variables));
  }
  const addressOf = (service: string) => `${service}:50051`;
  const runtime = operatorRuntime(secrets, { baseUrl: 'http://127.0.0.1:8080', addressOf, data: BACKENDS });
  await writePrivateFile(
    join(folder, 'postgres.env'),
    lines({ POSTGRES_PASSWORD: secrets.postgresPassword }),
  );
  // Containers with other users mount the files; the mode of the folder protects them from users of this machine.
  for (const [name, content] of [
    ['databases.sql', databaseScript(secrets)],
    ['nats.conf', busConfiguration(secrets)],
    ['operator.json', JSON.stringify(runtime)],
  ] as const) {
    await writePrivateFile(join(folder, name), content);
    await chmod(join(folder, name), 0o644);
  }
}

interface StoreVariables {
  ROOT_ACCESS_KEY: string;
  ROOT_SECRET_KEY: string;
}

async function storeVariables(file: string): Promise<StoreVariables> {
  const existing = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  const secret = /^ROOT_SECRET_KEY=(.+)$/m.exec(existing ?? '')?.[1] ?? randomBytes(32).toString('hex');
  const variables = { ROOT_ACCESS_KEY: 'files', ROOT_SECRET_KEY: secret };
  await writePrivateFile(file, lines(variables));
  return variables;
}

function s3Variables({ ROOT_ACCESS_KEY, ROOT_SECRET_KEY }: StoreVariables): Record<string, string> {
  return {
    S3_BUCKET: BUCKET,
    S3_ACCESS_KEY_ID: ROOT_ACCESS_KEY,
    S3_SECRET_ACCESS_KEY: ROOT_SECRET_KEY,
  };
}

/** No value has a character that such files would read otherwise. */
function lines(variables: object): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

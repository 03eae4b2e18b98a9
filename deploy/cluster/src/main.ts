import { access, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { loadSecrets } from '@kr/local-stack';
import { documentedFields } from '@kr/metadata';
import { busAuthorization } from './bus-authorization.ts';
import { writeComposeFolder } from './compose-folder.ts';
import { configurationPage } from './configuration-page.ts';
import { databaseScript } from './database-script.ts';
import { kubernetesSecrets } from './kubernetes-secrets.ts';
import { metadataPage } from './metadata-page.ts';
import { writeOperatorFolder } from './operator-folder.ts';
import { logVariables, serviceVariables } from './service-variables.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const USAGE = `Generates files for deployments: npm run deploy -- COMMAND

  configuration                 writes docs/configuration.md from the code
  metadata                      writes docs/metadata.md from the metadata schema
  compose [FOLDER]              generates the secrets of compose.yaml (default: deploy/secrets)
  secrets FILE                  generates the secrets of a cluster in FILE; existing ones stay
  kubernetes FILE               prints the Secrets of the chart, for kubectl apply -f -
      --postgres URL            the server without user (default: postgres://postgres:5432)
      --nats URL                the server without user (default: nats://nats:4222)
      --prefix NAME             prefix of their names, \`existingSecretPrefix\` of the chart (default: knowledge)
  nats FILE                     prints the users of NATS and their rights, for the server's configuration
  databases FILE                prints the databases and roles, for psql as a superuser
  operator FILE FOLDER          creates FOLDER, for kr admin … --data-dir FOLDER
      --base-url URL            the public address (default: http://127.0.0.1:8080)
      --gateway, --packages, --files, --search, --records HOST:PORT
                                addresses of their gRPC ports (default: 127.0.0.1:50051, :50052, :50053, :50054,
                                :50055)
      --postgres URL, --nats URL, --files-folder PATH
                                places of the data, for kr admin backup, restore and migrate
`;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', default: false },
    postgres: { type: 'string' },
    nats: { type: 'string' },
    'files-folder': { type: 'string' },
    prefix: { type: 'string', default: 'knowledge' },
    'base-url': { type: 'string', default: 'http://127.0.0.1:8080' },
    gateway: { type: 'string', default: '127.0.0.1:50051' },
    packages: { type: 'string', default: '127.0.0.1:50052' },
    files: { type: 'string', default: '127.0.0.1:50053' },
    search: { type: 'string', default: '127.0.0.1:50054' },
    records: { type: 'string', default: '127.0.0.1:50055' },
  },
});
const [name = '', first, second] = positionals;

const COMMANDS: Record<string, () => Promise<unknown>> = {
  configuration: async () => {
    const page = configurationPage({
      services: serviceVariables(),
      ofEveryProcess: logVariables(),
    });
    await writeFile(resolve(ROOT, 'docs/configuration.md'), page);
  },
  metadata: () => writeFile(resolve(ROOT, 'docs/metadata.md'), metadataPage(documentedFields())),
  compose: () => writeComposeFolder(first ?? resolve(ROOT, 'deploy/secrets')),
  secrets: () => loadSecrets(named(first, 'FILE')),
  kubernetes: async () => {
    const { postgres = 'postgres://postgres:5432', nats = 'nats://nats:4222', prefix } = values;
    const list = kubernetesSecrets(await made(), { postgres, nats, prefix });
    print(`${JSON.stringify(list, undefined, 2)}\n`);
  },
  nats: async () => print(busAuthorization(await made())),
  databases: async () => print(databaseScript(await made())),
  operator: async () => {
    const { 'base-url': baseUrl, gateway, packages, files, search, records } = values;
    const { postgres, nats, 'files-folder': filesFolder } = values;
    await writeOperatorFolder(named(second, 'FOLDER'), await made(), {
      baseUrl,
      addresses: { gateway, packages, files, search, records },
      data: { postgres, nats, filesFolder: filesFolder && resolve(filesFolder) },
    });
  },
};

const command = COMMANDS[name];
if (values.help) {
  process.stdout.write(USAGE);
} else if (command === undefined) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else {
  await command().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}

/** The secrets that were made before: what is printed now must be what is in use. */
async function made() {
  const file = named(first, 'FILE');
  await access(file).catch((cause: unknown) => {
    throw new Error(`${file} cannot be read; npm run deploy -- secrets ${file} makes it.`, { cause });
  });
  return loadSecrets(file);
}

function named(argument: string | undefined, what: string): string {
  if (argument === undefined) throw new Error(`${name} needs ${what}.\n\n${USAGE}`);
  return argument;
}

function print(text: string): void {
  process.stdout.write(text);
}

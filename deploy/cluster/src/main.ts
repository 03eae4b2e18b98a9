import { access, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type AdminService, loadSecrets, type Secrets } from '@kr/local-stack';
import { documentedFields } from '@kr/metadata';
import { Command } from 'commander';
import { busAuthorization } from './bus-authorization.ts';
import { writeComposeFolder } from './compose-folder.ts';
import { configurationPage } from './configuration-page.ts';
import { databaseScript } from './database-script.ts';
import { type KubernetesOptions, kubernetesSecrets } from './kubernetes-secrets.ts';
import { metadataPage } from './metadata-page.ts';
import { writeOperatorFolder } from './operator-folder.ts';
import { logVariables, serviceVariables } from './service-variables.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const SECRETS_FILE = 'file of the command "secrets"';

const program = new Command('npm run deploy --')
  .description('Generates files for deployments.')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .showHelpAfterError();

program
  .command('configuration')
  .description('write docs/configuration.md from the code')
  .action(async () => {
    const page = configurationPage({ services: serviceVariables(), ofEveryProcess: logVariables() });
    await writeFile(resolve(ROOT, 'docs/configuration.md'), page);
  });

program
  .command('metadata')
  .description('write docs/metadata.md from the metadata schema')
  .action(() => writeFile(resolve(ROOT, 'docs/metadata.md'), metadataPage(documentedFields())));

program
  .command('compose')
  .description('generate the secrets of compose.yaml')
  .argument('[folder]', 'existing secrets in it stay', resolve(ROOT, 'deploy/secrets'))
  .action((folder: string) => writeComposeFolder(folder));

program
  .command('secrets')
  .description('generate the secrets of a cluster')
  .argument('<file>', 'existing secrets in it stay')
  .action(async (file: string) => {
    await loadSecrets(file);
  });

program
  .command('kubernetes')
  .description('print the Secrets of the chart, for kubectl apply -f -')
  .argument('<file>', SECRETS_FILE)
  .option('--postgres <url>', 'the server without user', 'postgres://postgres:5432')
  .option('--nats <url>', 'the server without user', 'nats://nats:4222')
  .option('--prefix <name>', '`existingSecretPrefix` of the chart', 'knowledge')
  .option('--release <name>', 'release, or `fullnameOverride` of the chart', 'repository')
  .option('--base-url <url>', '`publicUrl` of the chart', 'http://127.0.0.1:8080')
  .option('--files-folder <path>', '/files, if files are on a volume, for backups')
  .action(async (file: string, options: KubernetesOptions) =>
    print(`${JSON.stringify(kubernetesSecrets(await existingSecrets(file), options), undefined, 2)}\n`),
  );

program
  .command('nats')
  .description('print the users of NATS and their rights, for the configuration of the server')
  .argument('<file>', SECRETS_FILE)
  .action(async (file: string) => print(busAuthorization(await existingSecrets(file))));

program
  .command('databases')
  .description('print the databases and roles, for psql as a superuser')
  .argument('<file>', SECRETS_FILE)
  .action(async (file: string) => print(databaseScript(await existingSecrets(file))));

program
  .command('operator')
  .description('create a folder for kr admin … --data-dir FOLDER')
  .argument('<file>', SECRETS_FILE)
  .argument('<folder>')
  .option('--base-url <url>', 'the public address', 'http://127.0.0.1:8080')
  .option('--gateway <address>', 'its gRPC host and port', '127.0.0.1:50051')
  .option('--packages <address>', 'its gRPC host and port', '127.0.0.1:50052')
  .option('--files <address>', 'its gRPC host and port', '127.0.0.1:50053')
  .option('--search <address>', 'its gRPC host and port', '127.0.0.1:50054')
  .option('--records <address>', 'its gRPC host and port', '127.0.0.1:50055')
  .option('--postgres <url>', 'the server without user, for kr admin backup, restore and migrate')
  .option('--nats <url>', 'the server without user, for kr admin restore')
  .option('--files-folder <path>', 'folder of the stored bytes, for kr admin backup and restore')
  .action(async (file: string, folder: string, options: OperatorOptions) => {
    const { baseUrl, postgres, nats, filesFolder, ...addresses } = options;
    const data = { postgres, nats, filesFolder: filesFolder && resolve(filesFolder) };
    await writeOperatorFolder(folder, await existingSecrets(file), {
      baseUrl,
      addressOf: (service) => addresses[service],
      data,
    });
  });

interface OperatorOptions extends Record<AdminService, string> {
  baseUrl: string;
  postgres?: string;
  nats?: string;
  filesFolder?: string;
}

await program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});

/** Printed secrets must be those in use, so none are generated here. */
async function existingSecrets(file: string): Promise<Secrets> {
  await access(file).catch((cause: unknown) => {
    throw new Error(`${file} cannot be read; npm run deploy -- secrets ${file} creates it.`, { cause });
  });
  return loadSecrets(file);
}

function print(text: string): void {
  process.stdout.write(text);
}

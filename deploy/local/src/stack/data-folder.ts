import { join } from 'node:path';

/** Where everything of one running system lies. */
export interface DataFolder {
  root: string;
  logs: string;
  postgres: string;
  nats: string;
  files: string;
  /** The operator's additions: `<type>.json`. */
  vocabularies: string;
  secretsFile: string;
  credentialsFile: string;
  runtimeFile: string;
  processesFile: string;
  logFile(part: string): string;
}

export function dataFolder(root: string): DataFolder {
  return {
    root,
    logs: join(root, 'logs'),
    postgres: join(root, 'postgres'),
    nats: join(root, 'nats'),
    files: join(root, 'files'),
    vocabularies: join(root, 'vocabularies'),
    secretsFile: join(root, 'secrets.json'),
    credentialsFile: join(root, 'credentials.json'),
    runtimeFile: join(root, 'runtime.json'),
    processesFile: join(root, 'processes.json'),
    logFile: (part) => join(root, 'logs', `${part}.log`),
  };
}

import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { configurationPage } from './configuration-page.ts';
import { logVariables, serviceVariables } from './service-variables.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

const COMMANDS: Record<string, () => Promise<void>> = {
  async configuration() {
    const page = configurationPage({ services: serviceVariables(), ofEveryProcess: logVariables() });
    await writeFile(resolve(ROOT, 'docs/configuration.md'), page);
  },
};

const [name = ''] = process.argv.slice(2);
const command = COMMANDS[name];
if (command === undefined) {
  console.error(`There is no "${name}". There are: ${Object.keys(COMMANDS).join(', ')}.`);
  process.exitCode = 2;
} else await command();

import type { Command } from 'commander';
import { listDois, reconcileDois, retryDois } from './commands/dois.ts';
import type { Terminal } from './terminal/terminal.ts';

interface Options {
  dataDir?: string;
  json: boolean;
}

/** `kr admin doi list`, `retry` and `reconcile`. */
export function addDoiCommands(
  admin: Command,
  terminal: Terminal,
  dataDirs: (dataDir: string | undefined) => string[],
): void {
  const dois = admin.command('doi').description('DOIs and their registration with DataCite.');
  const add = (usage: string, description: string): Command =>
    dois
      .command(usage)
      .description(description)
      .option('--data-dir <folder>', 'data folder of the running system')
      .option('--json', 'print JSON', false);

  add('list', 'List DOIs and their states.')
    .option('--failed', 'only refused DOIs', false)
    .addHelpText('after', LIST_HELP)
    .action((options: Options & { failed: boolean }) =>
      listDois(terminal, { ...options, dataDirs: dataDirs(options.dataDir) }),
    );
  add('retry [doi...]', 'Send DOIs again; without arguments all refused ones.').action(
    (names: string[], options: Options) =>
      retryDois(terminal, names, { ...options, dataDirs: dataDirs(options.dataDir) }),
  );
  add('reconcile', 'Compare every DOI with DataCite and send again what differs.').action(
    (options: Options) => reconcileDois(terminal, { ...options, dataDirs: dataDirs(options.dataDir) }),
  );
}

const LIST_HELP = `
States: pending (not registered yet), findable, hidden (restricted or removed after it was
findable), unregistered (never public), failed (refused by DataCite; see its last error,
remove the cause, then kr admin doi retry).`;

import { Command, InvalidArgumentError, Option } from 'commander';

export interface StartOptions {
  dataDir: string;
  port: number;
  logLevel: string;
  demoUser: boolean;
}

/**
 * @param print receives the help text, and errors with a hint
 * @throws CommanderError after the help text (`exitCode` 0), and for unknown options or wrong values
 */
export function parseStartOptions(args: readonly string[], print: (text: string) => void): StartOptions {
  return new Command('npm start --')
    .description('Starts the whole Knowledge Repository on this machine and keeps it running until Ctrl-C.')
    .option('--data-dir <dir>', 'folder of all data', '.data')
    .option('--port <port>', 'port of the public API', portNumber, 8080)
    .addOption(
      new Option('--log-level <level>').choices(['trace', 'debug', 'info', 'warn', 'error']).default('info'),
    )
    .option('--no-demo-user', 'create no first user')
    .addHelpText('after', HELP)
    .configureOutput({ writeOut: print, writeErr: print })
    .showHelpAfterError('"npm start -- --help" lists the options.')
    .exitOverride()
    .allowExcessArguments(false)
    .parse(args, { from: 'user' })
    .opts();
}

const HELP = `
Everything listens on the loopback interface only. Logs are in DIR/logs, one file per program.`;

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('Expected a number from 1 to 65535.');
}

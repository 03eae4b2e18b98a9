import { parseArgs } from 'node:util';

export interface StartOptions {
  dataDir: string;
  port: number;
  logLevel: string;
  demoUser: boolean;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error'];

export const HELP = `Starts the whole Knowledge Repository on this machine and keeps it running until Ctrl-C.

  npm start -- [options]

  --data-dir DIR      where everything is kept (default: .data)
  --port PORT         of the public API, 1 … 65535 (default: 8080)
  --log-level LEVEL   ${LOG_LEVELS.join(', ')} (default: info)
  --no-demo-user      make no first user
  --help              this text

Everything listens on the loopback interface only. Logs lie in DIR/logs, one file for each part.`;

/**
 * @throws Error with a sentence for the user when an option is unknown or its value is wrong. Undefined means
 * help.
 */
export function parseStartOptions(args: readonly string[]): StartOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      'data-dir': { type: 'string', default: '.data' },
      port: { type: 'string', default: '8080' },
      'log-level': { type: 'string', default: 'info' },
      'demo-user': { type: 'boolean', default: true },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port < 1 || port > 65_535) {
    throw new Error(`--port must be a number from 1 to 65535, not "${values.port}".`);
  }
  if (!LOG_LEVELS.includes(values['log-level'])) {
    throw new Error(`--log-level must be one of ${LOG_LEVELS.join(', ')}, not "${values['log-level']}".`);
  }
  return { dataDir: values['data-dir'], port, logLevel: values['log-level'], demoUser: values['demo-user'] };
}

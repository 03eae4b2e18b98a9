import { type Environment, EnvReader } from '@kr/service-config';

export interface LogSettings {
  level: string;
  /** Readable lines rather than JSON. */
  isPretty: boolean;
}

const LEVELS = ['info', 'trace', 'debug', 'warn', 'error', 'fatal', 'silent'] as const;

/** @throws ConfigError naming every problem found */
export function readLogSettings(env: Environment, { isTerminal = false } = {}): LogSettings {
  const read = new EnvReader(env);
  const settings = {
    level: read.choice('LOG_LEVEL', LEVELS, {
      doc: 'The least severe lines that are logged',
      fallback: 'info',
    }),
    isPretty:
      read.choice('LOG_FORMAT', ['json', 'pretty'], {
        doc: 'JSON lines, or readable ones; default readable on a terminal',
        fallback: isTerminal ? 'pretty' : 'json',
      }) === 'pretty',
  };
  read.done();
  return settings;
}

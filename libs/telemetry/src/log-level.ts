import { type Environment, EnvReader } from '@kr/service-config';

const LEVELS = ['info', 'trace', 'debug', 'warn', 'error', 'fatal', 'silent'] as const;

/** @throws ConfigError naming every problem found */
export function readLogLevel(env: Environment): string {
  const read = new EnvReader(env);
  const level = read.choice('LOG_LEVEL', LEVELS, { doc: 'Minimum severity of log lines', fallback: 'info' });
  read.done();
  return level;
}

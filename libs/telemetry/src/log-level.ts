import { type Environment, oneOf, readEnvironment, variables } from '@kr/service-config';

const LEVELS = ['info', 'trace', 'debug', 'warn', 'error', 'fatal', 'silent'] as const;

export const LOG_VARIABLES = variables({
  LOG_LEVEL: oneOf(LEVELS, { doc: 'Minimum severity of log lines', fallback: 'info' }),
});

/** @throws ConfigError naming every problem found */
export function readLogLevel(env: Environment): string {
  return readEnvironment(env, LOG_VARIABLES).LOG_LEVEL;
}

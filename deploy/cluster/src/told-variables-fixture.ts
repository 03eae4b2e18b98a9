import type { ProgramName } from '@kr/local-stack';
import { logVariables, serviceVariables } from './service-variables.ts';

const VARIABLES = serviceVariables();
const LOGGING = logVariables();
/** Read by Node and by the OpenTelemetry SDK, not by our code. */
const OF_THE_PLATFORM = /^(NODE_OPTIONS|NODE_EXTRA_CA_CERTS|OTEL_[A-Z_]+)$/;

/** Whether a service reads a variable, and whether it is a secret. */
export function isTold(service: ProgramName, name: string): 'openly' | 'secret' | undefined {
  if (OF_THE_PLATFORM.test(name)) return 'openly';
  const found = [...(VARIABLES.get(service) ?? []), ...LOGGING].find((variable) => variable.name === name);
  if (found === undefined) return undefined;
  return found.isSecret ? 'secret' : 'openly';
}

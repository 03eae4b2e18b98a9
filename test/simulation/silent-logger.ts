import type { Logger } from '@kr/telemetry';
import type { Trace } from './trace.ts';

/** Warnings are the daily bread of a history with faults; what is logged at an alarming level breaks a promise. */
export function silentLogger(trace: Trace, alarming: 'error' | 'fatal'): Logger {
  const quiet = (): void => undefined;
  const alarm = (details: object, message: string): void =>
    trace.violation(`${message}: ${JSON.stringify(details)}`);
  const error = alarming === 'error' ? alarm : quiet;
  return { trace: quiet, debug: quiet, info: quiet, warn: quiet, error, fatal: alarm } as unknown as Logger;
}

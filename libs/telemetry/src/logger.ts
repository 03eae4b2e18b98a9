import { trace } from '@opentelemetry/api';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { environment } from './environment.ts';
import { readLogLevel } from './log-level.ts';

export type { Logger } from 'pino';

const level = readLogLevel(environment);
// A service in production never needs it, and the logger must be available synchronously.
const pretty = process.stdout.isTTY ? (await import('pino-pretty')).default : undefined;

const SECRETS = ['authorization', 'cookie', 'token', 'password', 'secret'];

/**
 * The logger of one process: JSON lines on standard output with the ids of the active trace; readable lines on a
 * terminal. LOG_LEVEL is one of pino's levels or `silent` (default `info`). Fields named
 * like a secret are left out, at the top, one level down and in `headers`.
 */
export function createLogger(service: string, destination: DestinationStream = defaultDestination()): Logger {
  return pino(
    {
      level,
      base: { service },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.headers.${name}`]), remove: true },
      mixin: traceIds,
    },
    destination,
  );
}

function traceIds(): Record<string, string> {
  const span = trace.getActiveSpan()?.spanContext();
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
}

function defaultDestination(): DestinationStream {
  return pretty?.({ ignore: 'pid,hostname', sync: true }) ?? pino.destination({ dest: 1, sync: true });
}

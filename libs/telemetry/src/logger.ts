import { createRequire } from 'node:module';
import { trace } from '@opentelemetry/api';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { environment } from './environment.ts';

export type { Logger } from 'pino';

const SECRETS = ['authorization', 'cookie', 'token', 'password', 'secret'];

/**
 * The logger of one process: JSON lines on standard output with the ids of the active trace; readable lines on a
 * terminal or with LOG_FORMAT=pretty. LOG_LEVEL is one of pino's levels or `silent` (default `info`). Fields named
 * like a secret are left out, at the top, one level down and in `headers`.
 */
export function createLogger(service: string, destination: DestinationStream = defaultDestination()): Logger {
  return pino(
    {
      level: environment['LOG_LEVEL'] || 'info',
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
  const format = environment['LOG_FORMAT'];
  const isPretty = format === 'pretty' || (format === undefined && process.stdout.isTTY === true);
  if (!isPretty) return pino.destination({ dest: 1, sync: true });
  // Loaded on demand: a service in production never needs it.
  const pretty = createRequire(import.meta.url)('pino-pretty') as (options: object) => DestinationStream;
  return pretty({ ignore: 'pid,hostname', sync: true });
}

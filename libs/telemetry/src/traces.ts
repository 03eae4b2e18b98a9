import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

export type { Attributes } from '@opentelemetry/api';

/** The headers that continue the active span elsewhere (W3C Trace Context); none when nothing is traced. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

/** The id of the trace that the active span belongs to (32 hex digits); undefined when nothing is traced. */
export function currentTraceId(): string | undefined {
  const spanContext = trace.getActiveSpan()?.spanContext();
  return spanContext !== undefined && isSpanContextValid(spanContext) ? spanContext.traceId : undefined;
}

/** Does work that another process asked for, in a span that continues the trace of its headers. */
export function withRemoteTrace<T>(
  headers: Readonly<Record<string, string>>,
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  return inSpan(propagation.extract(context.active(), headers), name, SpanKind.SERVER, attributes, work);
}

/** Does work of our own, or a call to another process, in a span of its own. */
export function withSpan<T>(
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
  kind: 'internal' | 'client' | 'producer' = 'internal',
): Promise<T> {
  return inSpan(context.active(), name, SPAN_KINDS[kind], attributes, work);
}

const SPAN_KINDS = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
} as const;

function inSpan<T>(
  parent: Context,
  name: string,
  kind: SpanKind,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  return trace
    .getTracer('@kr/telemetry')
    .startActiveSpan(name, { kind, attributes }, parent, async (span) => {
      try {
        return await work();
      } catch (error) {
        if (error instanceof Error) span.recordException(error);
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    });
}

import {
  type Attributes,
  type Context,
  context,
  INVALID_TRACEID,
  isSpanContextValid,
  propagation,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';

export type { Attributes } from '@opentelemetry/api';

/** Of a trace, as they cross from one process to another (W3C Trace Context). */
export type TraceHeaders = Readonly<Record<string, string>>;

export interface SpanOptions {
  /** Default `internal`. */
  kind?: keyof typeof SPAN_KINDS;
  attributes?: Attributes;
  /** Selects the errors that mark the span as failed; default all. */
  isFailure?: (error: unknown) => boolean;
}

const SPAN_KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

const tracer = trace.getTracer('@kr/telemetry');

/** The headers that continue the active span elsewhere; none when nothing is traced. */
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

/** Runs work, or a call to another process, in a new span. */
export function withSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
  return inSpan(context.active(), name, options, work);
}

/** Runs work requested by another process, in a span that continues the trace of its headers. */
export function withRemoteTrace<T>(
  headers: TraceHeaders,
  name: string,
  options: SpanOptions,
  work: () => Promise<T>,
): Promise<T> {
  return inSpan(propagation.extract(context.active(), headers), name, options, work);
}

/**
 * Runs work that several messages caused. It is a part of the trace of the first that is recorded, linked to
 * the others; each other trace gets a span of the same name, linked to where the work is.
 */
export function withCauses<T>(
  causes: readonly TraceHeaders[],
  name: string,
  { attributes = {}, isFailure = always }: Omit<SpanOptions, 'kind'>,
  work: () => Promise<T>,
): Promise<T> {
  const options = { kind: 'consumer', attributes, isFailure } as const;
  const found = causes.flatMap(causeOf);
  const main = found.find(isRecorded) ?? found[0];
  if (main === undefined) return inSpan(context.active(), name, options, work);
  const others = found.filter((one) => one !== main);
  const links = others.map(({ span }) => ({ context: span }));
  const elsewhere = distinctTraces(others.filter(isRecorded), main.span.traceId);
  return inSpan(main.context, name, { ...options, links }, () => {
    const here = trace.getActiveSpan()?.spanContext();
    if (here === undefined) return work();
    const reference = { kind: SpanKind.CONSUMER, attributes, links: [{ context: here }] };
    const spans = elsewhere.map((cause) => tracer.startSpan(name, reference, cause.context));
    return work().finally(() => {
      for (const span of spans) span.end();
    });
  });
}

/** Ends a span, as failed if an error is passed. */
export type EndSpan = (error?: unknown) => void;

/** Whether the active span is recorded. */
export function isRecording(): boolean {
  return trace.getActiveSpan()?.isRecording() === true;
}

/** A span of kind `client` for callback APIs. Nothing runs in it. */
export function beginSpan(name: string, attributes: Attributes): EndSpan {
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes });
  return (error) => {
    if (error !== undefined && error !== null) markFailed(span, error);
    span.end();
  };
}

/** Calls the request that is being answered by its route, as few names as there are routes. */
export function nameRequest(method: string, route: string): void {
  const span = trace.getActiveSpan();
  if (span?.isRecording() !== true) return;
  span.updateName(`${method} ${route}`);
  span.setAttribute('http.route', route);
}

interface LinkedSpanOptions extends SpanOptions {
  links?: readonly { context: SpanContext }[];
}

interface Cause {
  context: Context;
  span: SpanContext;
}

function causeOf(headers: TraceHeaders): Cause[] {
  const extracted = propagation.extract(context.active(), headers);
  const span = trace.getSpanContext(extracted);
  return span !== undefined && isSpanContextValid(span) ? [{ context: extracted, span }] : [];
}

/** Such a trace needs no spans here: its ids are passed on unchanged. */
function isUnrecorded(of: Context): boolean {
  const span = trace.getSpanContext(of);
  return (
    span !== undefined && (span.traceFlags & TraceFlags.SAMPLED) === 0 && span.traceId !== INVALID_TRACEID
  );
}

function isRecorded({ span }: Cause): boolean {
  return (span.traceFlags & TraceFlags.SAMPLED) !== 0;
}

function distinctTraces(causes: readonly Cause[], except: string): Cause[] {
  const byTrace = new Map(causes.map((cause) => [cause.span.traceId, cause]));
  byTrace.delete(except);
  return [...byTrace.values()];
}

function inSpan<T>(
  parent: Context,
  name: string,
  { kind = 'internal', attributes = {}, links = [], isFailure = always }: LinkedSpanOptions,
  work: () => Promise<T>,
): Promise<T> {
  if (isUnrecorded(parent)) return context.with(parent, work);
  const options = { kind: SPAN_KINDS[kind], attributes, links: [...links] };
  return tracer.startActiveSpan(name, options, parent, async (span) => {
    try {
      return await work();
    } catch (error) {
      if (isFailure(error)) markFailed(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

function always(): boolean {
  return true;
}

function markFailed(span: Span, error: unknown): void {
  if (error instanceof Error) span.recordException(error);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { environment } from './environment.ts';
import { isSignalEnabled } from './exporting.ts';

const isTracing = isSignalEnabled('TRACES', environment);
const tracer = trace.getTracer('@kr/telemetry');

/**
 * Handles each request in a span that continues the client's trace. The standard
 * instrumentation costs as much for unrecorded requests as for recorded ones, and exports the query string, which may
 * contain tokens.
 */
export function traceRequests(listener: RequestListener): RequestListener {
  return isTracing ? (request, response) => inSpanOf(request, response, listener) : listener;
}

function inSpanOf(request: IncomingMessage, response: ServerResponse, listener: RequestListener): void {
  const { method = '', url = '', headers } = request;
  const parent = propagation.extract(ROOT_CONTEXT, headers);
  const span = tracer.startSpan(method, { kind: SpanKind.SERVER }, parent);
  if (span.isRecording()) {
    const path = url.split('?', 1)[0] ?? '';
    span.setAttributes({ 'http.request.method': method, 'url.path': path, 'url.scheme': 'http' });
    response.once('close', () => {
      span.setAttribute('http.response.status_code', response.statusCode);
      if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
  }
  context.with(trace.setSpan(parent, span), () => listener(request, response));
}

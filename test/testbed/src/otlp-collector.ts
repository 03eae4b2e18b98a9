import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';

export type AttributeValue = string | number | boolean;

/** A span as received. */
export interface SentSpan {
  /** `service.name` of the process. */
  service: string;
  traceId: string;
  spanId: string;
  /** Empty for the first span of a trace. */
  parentSpanId: string;
  name: string;
  kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  isError: boolean;
  attributes: Readonly<Record<string, AttributeValue>>;
  /** Linked spans. */
  links: readonly { traceId: string; spanId: string }[];
}

export interface OtlpCollector {
  /** Variables with which a process exports its spans here as soon as they end. */
  environment: Readonly<Record<string, string>>;
  /** Received spans, oldest first. */
  spans(): readonly SentSpan[];
  stop(): Promise<void>;
}

/** An OpenTelemetry collector that receives spans by OTLP over HTTP in JSON and stores them in memory. */
export async function startOtlpCollector(): Promise<OtlpCollector> {
  const spans: SentSpan[] = [];
  const server = createServer(async (request, response) => {
    try {
      spans.push(...spansOf((await bodyOf(request)) as TracesRequest));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    } catch (error) {
      response.writeHead(400, { 'content-type': 'text/plain' }).end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    environment: {
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${port}/v1/traces`,
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_METRICS_EXPORTER: 'none',
    },
    spans: () => spans,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function bodyOf(request: IncomingMessage): Promise<unknown> {
  const isZipped = request.headers['content-encoding'] === 'gzip';
  return json(isZipped ? request.pipe(createGunzip()) : request);
}

/** ExportTraceServiceRequest of OTLP 1.x in its JSON form; numbers of 64 bits are texts. */
interface TracesRequest {
  resourceSpans?: {
    resource?: { attributes?: KeyValue[] };
    scopeSpans?: { spans?: JsonSpan[] }[];
  }[];
}

interface JsonSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes?: KeyValue[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
}

interface KeyValue {
  key: string;
  value: { stringValue?: string; intValue?: string | number; doubleValue?: number; boolValue?: boolean };
}

/** By their numbers in opentelemetry.proto.trace.v1.Span.SpanKind, from 1. */
const KINDS = ['internal', 'server', 'client', 'producer', 'consumer'] as const;
const STATUS_ERROR = 2;

function spansOf({ resourceSpans = [] }: TracesRequest): SentSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) => {
    const service = String(attributesOf(resource?.attributes)['service.name']);
    return scopeSpans.flatMap(({ spans = [] }) => spans.map((span) => sentSpan(service, span)));
  });
}

function sentSpan(service: string, span: JsonSpan): SentSpan {
  const kind = KINDS[span.kind - 1];
  if (kind === undefined) throw new Error(`there is no kind ${span.kind} of spans`);
  return {
    service,
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    name: span.name,
    kind,
    isError: span.status?.code === STATUS_ERROR,
    attributes: attributesOf(span.attributes),
    links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
  };
}

function attributesOf(pairs: readonly KeyValue[] = []): Record<string, AttributeValue> {
  return Object.fromEntries(
    pairs.flatMap(({ key, value }) => {
      const { stringValue, boolValue, doubleValue, intValue } = value;
      const plain =
        stringValue ?? boolValue ?? doubleValue ?? (intValue === undefined ? intValue : Number(intValue));
      return plain === undefined ? [] : [[key, plain]];
    }),
  );
}

import { register } from 'node:module';
import { context, createNoopMeter } from '@opentelemetry/api';
import { isTracingSuppressed, W3CTraceContextPropagator } from '@opentelemetry/core';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { RuntimeNodeInstrumentation } from '@opentelemetry/instrumentation-runtime-node';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { environment } from './environment.ts';
import { isSignalEnabled } from './exporting.ts';
import { observePostgres } from './observe-postgres.ts';
import { observeProcess } from './process-measures.ts';

const isTracing = isSignalEnabled('TRACES', environment);
const isMeasuring = isSignalEnabled('METRICS', environment);

// Lets the instrumentations of outgoing requests see the modules that make them, and no others, which would be wrapped for
// nothing. Servers, RPC, bus and database are not patched so: they make their spans themselves.
if (isTracing) {
  const data = { include: ['http', 'https'] };
  register('@opentelemetry/instrumentation/hook.mjs', import.meta.url, { data });
}
const outgoing = isTracing
  ? [
      new HttpInstrumentation({
        disableIncomingRequestInstrumentation: true,
        // Avoids wrapping requests to the collector, which have no span.
        ignoreOutgoingRequestHook: () => isTracingSuppressed(context.active()),
      }),
      new UndiciInstrumentation(),
    ]
  : [];

const [, script = ''] = process.argv;
const name = environment['OTEL_SERVICE_NAME'] ?? serviceName(script);
const sdk = new NodeSDK({
  serviceName: name,
  // Watching the event loop wakes the process every 20 ms.
  instrumentations: [
    ...outgoing,
    ...(isMeasuring ? [new RuntimeNodeInstrumentation({ monitoringPrecision: 20 })] : []),
  ],
  // No baggage: what strangers put into it would go with every call, event and request to others.
  textMapPropagator: new W3CTraceContextPropagator(),
  // The SDK would send disabled signals to the default address of a collector.
  ...(isTracing ? {} : { spanProcessors: [] }),
  ...(isMeasuring ? {} : { metricReaders: [] }),
  logRecordProcessors: [],
});
sdk.start();
// Their durations of requests know no routes, and ours do.
for (const instrumentation of outgoing) {
  instrumentation.setMeterProvider({ getMeter: createNoopMeter });
}
observePostgres({ isMeasured: isMeasuring });
if (isMeasuring) observeProcess(name, script);

// The service stops its own servers on a signal and the loop runs empty; what is still queued is sent then.
let isFlushed = false;
process.on('beforeExit', () => {
  if (isFlushed) return;
  isFlushed = true;
  sdk
    .shutdown()
    .catch((error: unknown) => process.stderr.write(`telemetry was not sent: ${String(error)}\n`));
});

/** `services/records/src/main.ts` is the service `records`. */
function serviceName(path: string): string {
  return /services\/([^/]+)\/src\/main\.ts$/.exec(path.replaceAll('\\', '/'))?.[1] ?? 'knowledge-repository';
}

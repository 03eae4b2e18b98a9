import { register } from 'node:module';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { environment } from './environment.ts';

// Lets the instrumentations see modules that are imported rather than required. RPC and bus are not patched: they
// make their spans themselves.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);

const isProbe = (path: string | undefined): boolean => path === '/livez' || path === '/readyz';

const sdk = new NodeSDK({
  ...(environment['OTEL_SERVICE_NAME'] === undefined ? { serviceName: serviceName(process.argv[1]) } : {}),
  instrumentations: [
    new HttpInstrumentation({ ignoreIncomingRequestHook: ({ url }) => isProbe(url) }),
    new PgInstrumentation({ requireParentSpan: true }),
    new UndiciInstrumentation(),
  ],
});
sdk.start();

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
function serviceName(script = ''): string {
  return (
    /services\/([^/]+)\/src\/main\.ts$/.exec(script.replaceAll('\\', '/'))?.[1] ?? 'knowledge-repository'
  );
}

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';

const preload = fileURLToPath(new URL('./preload.ts', import.meta.url));
const index = fileURLToPath(new URL('./index.ts', import.meta.url));

// Prints the name of each OpenTelemetry module that is asked for.
const WATCH = `data:text/javascript,
  import { registerHooks } from 'node:module';
  registerHooks({ resolve(name, context, next) {
    if (/opentelemetry.(sdk|instr)/.test(name)) console.log('loads ' + name);
    return next(name, context);
  } });`;

async function run(script: string, env: Record<string, string>): Promise<string> {
  const args = ['--import', WATCH, '--import', preload, '--input-type=module', '-e', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return stdout;
}

const CONTINUE_A_TRACE = `
  const { withRemoteTrace, traceHeaders, currentTraceId, createLogger } = await import(${JSON.stringify(index)});
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await withRemoteTrace({ traceparent }, 'a call', {}, async () => {
    console.log('headers ' + JSON.stringify(traceHeaders()));
    console.log('trace ' + currentTraceId());
    createLogger('x').info('inside');
  });`;

describe('preload', () => {
  test('loads no SDK when nothing is exported, and work runs untraced', async () => {
    const output = await run(CONTINUE_A_TRACE, {});
    expect(output).toContain('headers {}\n');
    expect(output).toContain('trace undefined\n');
    expect(output).not.toMatch(/loads|trace_id/);
  });

  test('with an exporter, a remote trace goes on in headers and log lines, and its span is sent at the end', async () => {
    const output = await run(CONTINUE_A_TRACE, {
      OTEL_TRACES_EXPORTER: 'console',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
    });
    expect(output).toContain('loads @opentelemetry/sdk-node');
    expect(output).toMatch(/headers \{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01"/);
    expect(output).toContain('trace 0af7651916cd43dd8448eb211c80319c\n');
    expect(output).toMatch(/"trace_id":"0af7651916cd43dd8448eb211c80319c"/);
    expect(output).toContain("name: 'a call'");
  });
});

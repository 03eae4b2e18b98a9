import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';

const preload = fileURLToPath(new URL('./preload.ts', import.meta.url));
const index = fileURLToPath(new URL('./index.ts', import.meta.url));

async function run(script: string, env: Record<string, string>): Promise<string> {
  const args = ['--import', preload, '--input-type=module', '-e', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return stdout;
}

const CONTINUE_A_TRACE = `
  const { withRemoteTrace, traceHeaders, createLogger } = await import(${JSON.stringify(index)});
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await withRemoteTrace({ traceparent }, 'a call', {}, async () => {
    console.log('headers ' + JSON.stringify(traceHeaders()));
    createLogger('x').info('inside');
  });`;

describe('preload', () => {
  test('loads no SDK when nothing is exported', async () => {
    const script = `
      await import(${JSON.stringify(index)});
      const { createRequire } = await import('node:module');
      const loaded = Object.keys(createRequire(import.meta.url).cache).filter((path) => /sdk-|instrumentation/.test(path));
      console.log(JSON.stringify(loaded));`;
    expect(await run(script, {})).toBe('[]\n');
  });

  test('without export, work runs untraced', async () => {
    const output = await run(CONTINUE_A_TRACE, {});
    expect(output).toContain('headers {}\n');
    expect(output).not.toContain('trace_id');
  });

  test('with an exporter, a remote trace goes on in headers and log lines, and its span is sent at the end', async () => {
    const output = await run(CONTINUE_A_TRACE, {
      OTEL_TRACES_EXPORTER: 'console',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
    });
    expect(output).toMatch(/headers \{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01"/);
    expect(output).toMatch(/"trace_id":"0af7651916cd43dd8448eb211c80319c"/);
    expect(output).toContain("name: 'a call'");
  });
});

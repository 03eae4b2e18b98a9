import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';

const preload = fileURLToPath(new URL('./preload.ts', import.meta.url));
const index = fileURLToPath(new URL('./index.ts', import.meta.url));

// Prints the name of each imported OpenTelemetry module.
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

const continueTrace = (traceparent: string) => `
  const { withRemoteTrace, withSpan, traceHeaders, currentTraceId, createLogger } = await import(${JSON.stringify(index)});
  const traceparent = '${traceparent}';
  await withRemoteTrace({ traceparent }, 'a call', { kind: 'server' }, () => withSpan('a part', {}, async () => {
    console.log('headers ' + JSON.stringify(traceHeaders()));
    console.log('trace ' + currentTraceId());
    createLogger('x').info('inside');
  }));`;
const CONTINUE_A_TRACE = continueTrace('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');

/** Spans of the console exporter, as they ended. */
const CONSOLE = { OTEL_TRACES_EXPORTER: 'console' };
const A = '0af7651916cd43dd8448eb211c80319c';
const B = '1bf7651916cd43dd8448eb211c80319c';

const HANDLE_MESSAGES = `
  const { withCauses, traceHeaders } = await import(${JSON.stringify(index)});
  const message = (traceId, spanId, flags) => ({ traceparent: ['00', traceId, spanId, flags].join('-') });
  const causes = [
    {},
    message('${A}', 'aaaaaaaaaaaaaaa0', '00'),
    message('${A}', 'aaaaaaaaaaaaaaa1', '01'),
    message('${A}', 'aaaaaaaaaaaaaaa2', '01'),
    message('${B}', 'bbbbbbbbbbbbbbb1', '01'),
    message('${B}', 'bbbbbbbbbbbbbbb2', '01'),
  ];
  await withCauses(causes, 'handle', {}, async () => console.log('inside ' + traceHeaders().traceparent));`;

const COUNT_SAMPLED = `
  const { withSpan, withRemoteTrace, traceHeaders } = await import(${JSON.stringify(index)});
  const isRecorded = async () => traceHeaders().traceparent.endsWith('-01');
  const count = async (make) => {
    let recorded = 0;
    for (let n = 0; n < 4000; n += 1) if (await make()) recorded += 1;
    return recorded;
  };
  const remote = (flags) => () =>
    withRemoteTrace({ traceparent: '00-${A}-b7ad6b7169203331-' + flags }, 'a call', {}, isRecorded);
  console.log('counts ' + JSON.stringify({
    roots: await count(() => withSpan('a request', {}, isRecorded)),
    recorded: await count(remote('01')),
    unrecorded: await count(remote('00')),
  }));`;

describe('preload', () => {
  test('loads no SDK when nothing is exported, and work runs untraced', async () => {
    const output = await run(CONTINUE_A_TRACE, {});
    expect(output).toContain('headers {}\n');
    expect(output).toContain('trace undefined\n');
    expect(output).not.toMatch(/loads|trace_id/);
  });

  test('with an exporter, a remote trace continues in headers and log lines, and its span is sent at the end', async () => {
    const output = await run(CONTINUE_A_TRACE, {
      OTEL_TRACES_EXPORTER: 'console',
      OTEL_METRICS_EXPORTER: 'none',
    });
    expect(output).toContain('loads @opentelemetry/sdk-node');
    expect(output).toMatch(/headers \{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01"/);
    expect(output).toContain('trace 0af7651916cd43dd8448eb211c80319c\n');
    expect(output).toMatch(/"trace_id":"0af7651916cd43dd8448eb211c80319c"/);
    expect(output).toContain("name: 'a call'");
    expect(output).toContain("name: 'a part'");
  });

  test('a trace that is not recorded is passed on unchanged, in headers and log lines, without spans', async () => {
    const traceparent = `00-${A}-b7ad6b7169203331-00`;
    const output = await run(continueTrace(traceparent), CONSOLE);
    expect(output).toContain(`headers ${JSON.stringify({ traceparent })}\n`);
    expect(output).toContain(`trace ${A}\n`);
    expect(output).toContain(`"trace_id":"${A}"`);
    expect(output).not.toContain('traceId:');
  });

  test('work with several causes is part of each of their recorded traces', async () => {
    const output = await run(HANDLE_MESSAGES, CONSOLE);
    const inside = new RegExp(`inside 00-${A}-([0-9a-f]{16})-01`).exec(output)?.[1];
    expect(inside).toBeDefined();
    const spans = output.split(/^\{$/m).slice(1);
    const found = spans.map((span) => ({
      trace: /traceId: '(\w+)'/.exec(span)?.[1],
      parent: /parentSpanContext: \{[^}]*spanId: '(\w+)'/.exec(span)?.[1],
      kind: /kind: (\d)/.exec(span)?.[1],
      links: [...(/links: \[([\s\S]*)/.exec(span)?.[1] ?? '').matchAll(/spanId: '(\w+)'/g)].map(
        ([, id]) => id,
      ),
    }));
    expect(found).toEqual([
      { trace: B, parent: 'bbbbbbbbbbbbbbb2', kind: '4', links: [inside] },
      {
        trace: A,
        parent: 'aaaaaaaaaaaaaaa1',
        kind: '4',
        links: ['aaaaaaaaaaaaaaa0', 'aaaaaaaaaaaaaaa2', 'bbbbbbbbbbbbbbb1', 'bbbbbbbbbbbbbbb2'],
      },
    ]);
  });

  test('a tenth of new traces is sampled, and continued traces follow their first span', async () => {
    const output = await run(COUNT_SAMPLED, {
      ...CONSOLE,
      // Only what is recorded is counted; nothing has to be printed.
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9/',
      OTEL_BSP_SCHEDULE_DELAY: '3600000',
      OTEL_EXPORTER_OTLP_TIMEOUT: '1',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
    });
    const { roots, ...rest } = JSON.parse(/counts (.*)/.exec(output)?.[1] ?? '');
    expect(rest).toEqual({ recorded: 4000, unrecorded: 0 });
    // Ten standard deviations to either side.
    expect(Math.abs(roots - 400)).toBeLessThan(190);
  });
});

import { describe, expect, test } from '@jest/globals';
import { isExporting, isSignalEnabled } from './exporting.ts';

describe('telemetry is exported', () => {
  test.each<{ env: Record<string, string>; expected: boolean }>([
    { env: {}, expected: false },
    { env: { OTEL_SERVICE_NAME: 'records' }, expected: false },
    { env: { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: '' }, expected: false },
    { env: { OTEL_TRACES_EXPORTER: 'console' }, expected: true },
    { env: { OTEL_METRICS_EXPORTER: 'prometheus' }, expected: true },
    { env: { OTEL_LOGS_EXPORTER: 'otlp' }, expected: false },
    { env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, expected: true },
    { env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, expected: true },
    { env: { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, expected: false },
    {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SDK_DISABLED: 'true' },
      expected: false,
    },
  ])('$expected for $env', ({ env, expected }) => {
    expect(isExporting(env)).toBe(expected);
  });
});

test.each([
  [{ OTEL_METRICS_EXPORTER: 'prometheus' }, { TRACES: false, METRICS: true }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' }, { TRACES: true, METRICS: true }],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_METRICS_EXPORTER: 'none' },
    { TRACES: true, METRICS: false },
  ],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c' }, { TRACES: true, METRICS: false }],
])('of %j only that signal is sent', (env, expected) => {
  const requested = Object.fromEntries(
    (['TRACES', 'METRICS'] as const).map((name) => [name, isSignalEnabled(name, env)]),
  );
  expect(requested).toEqual(expected);
});

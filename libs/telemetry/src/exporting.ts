type Environment = Readonly<Record<string, string | undefined>>;

/** Logs are lines on standard output, for the platform's collector. */
const SIGNALS = ['TRACES', 'METRICS'] as const;

export type Signal = (typeof SIGNALS)[number];

/**
 * Whether the environment enables an exporter (OpenTelemetry SDK environment variables): one is named, or an OTLP
 * endpoint is set, for all signals or for one.
 */
export function isExporting(env: Environment): boolean {
  return SIGNALS.some((signal) => isSignalEnabled(signal, env));
}

/** Whether the environment enables one signal. The default exporter is OTLP, but only if an endpoint is set. */
export function isSignalEnabled(signal: Signal, env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  const exporter = env[`OTEL_${signal}_EXPORTER`] ?? '';
  if (exporter !== '') return exporter !== 'none';
  return ['OTEL_EXPORTER_OTLP_ENDPOINT', `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`].some(
    (name) => (env[name] ?? '') !== '',
  );
}

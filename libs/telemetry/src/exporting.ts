const EXPORTERS = ['OTEL_TRACES_EXPORTER', 'OTEL_METRICS_EXPORTER', 'OTEL_LOGS_EXPORTER'] as const;

/**
 * Whether the environment asks for telemetry to be sent anywhere (OpenTelemetry SDK environment variables): an
 * exporter is named, or an OTLP endpoint is, for all signals or for one.
 */
export function isExporting(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  const isNamed = EXPORTERS.some((name) => !['', 'none'].includes(env[name] ?? ''));
  return (
    isNamed ||
    Object.keys(env).some((name) => /^OTEL_EXPORTER_OTLP_([A-Z]+_)?ENDPOINT$/.test(name) && env[name] !== '')
  );
}

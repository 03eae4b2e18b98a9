/**
 * The environment of the process. Telemetry is set up by the standard OTEL_* variables and LOG_LEVEL alone and before any
 * configuration is read, so this is the one library that looks there itself.
 */
// biome-ignore lint/style/noProcessEnv: see above
export const environment: Readonly<Record<string, string | undefined>> = process.env;

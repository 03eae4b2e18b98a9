import { type Histogram, metrics } from '@opentelemetry/api';

let durations: Histogram | undefined;

/** Counts a call that was answered, with its duration; the outcome is `ok` or an error kind. */
export function recordCall(method: string, outcome: string, durationMs: number): void {
  durations ??= metrics.getMeter('@kr/rpc').createHistogram('rpc.server.duration', { unit: 'ms' });
  durations.record(durationMs, { 'rpc.method': method, outcome });
}

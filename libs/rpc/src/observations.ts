import { ERROR_KINDS, ServiceError } from '@kr/service-error';
import { durations } from '@kr/telemetry';

const METER = '@kr/rpc';

const inServer = durations(METER, {
  name: 'rpc_server_duration_seconds',
  description: 'Calls that were answered; the outcome is ok or the kind of the error.',
  of: 'answers',
});
const inClient = durations(METER, {
  name: 'rpc_client_duration_seconds',
  description: 'Calls to other services, measured by the caller.',
  of: 'answers',
});

/** Ends the measurement of a call, with the error if it failed. */
type TimedCall = (error?: ServiceError) => void;

/** Measures a call that this process answers. */
export function beginAnswer(method: string): TimedCall {
  return timed(inServer, method);
}

/** Measures a call to another service. */
export function beginCall(method: string): TimedCall {
  return timed(inClient, method);
}

/** Whether the error is a defect or an outage, not a refusal of the request. */
export function isFailure(error: unknown): boolean {
  return ERROR_KINDS[ServiceError.from(error).kind].http >= 500;
}

function timed(record: ReturnType<typeof durations>, method: string): TimedCall {
  const started = performance.now();
  return (error) =>
    record((performance.now() - started) / 1_000, { rpc_method: method, outcome: error?.kind ?? 'ok' });
}

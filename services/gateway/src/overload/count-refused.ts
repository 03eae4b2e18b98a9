import { counter } from '@kr/telemetry';
import type { Load } from './load-of.ts';

const LOADS: readonly Load[] = ['little', 'much', 'transfer'];

/** Counts the requests that were refused because too much was under way. */
export function countRefused(): (load: Load) => void {
  const count = counter(
    '@kr/gateway',
    {
      name: 'http_server_requests_refused',
      description: 'Requests that were answered 503 at once because too much was under way.',
    },
    LOADS.map((load) => ({ load })),
  );
  return (load) => count({ load });
}

import type { Endpoint } from '../http/endpoint.ts';

/** GET /api/ping */
export function ping(): Endpoint {
  return async () => ({ as: 'text', status: 200, type: 'text/plain', text: 'OK' });
}

import type { JsonClient } from '../json-client.ts';

/** One measurement, on our side and on the bare server. */
export interface Scenario {
  name: string;
  concurrency: number;
  /** Maximum requests of a round even if its time is not up; for requests that need preparation. */
  requestsPerRound?: number;
  /**
   * Prepares one round on our side, unmeasured; a visitor has no token. `request` is what is measured; `payload` is an answer of ours that
   * the bare server sends back; `body` is what the bare server is sent.
   */
  prepare(
    repository: JsonClient,
    visitor: JsonClient,
  ): Promise<{
    request: () => Promise<void>;
    payload: unknown;
    method: 'GET' | 'POST';
    body?: string;
  }>;
}

import { ServiceError } from '@kr/service-error';
import type { Call } from '../http/endpoint.ts';

/** Adds the engine time of a search to the rate-limit cost of the request, also when it failed. */
export async function chargeSearch<Answer extends { engineMs: number }>(
  { addCost, signal }: Pick<Call, 'addCost' | 'signal'>,
  search: () => Promise<Answer>,
): Promise<Answer> {
  const begun = performance.now();
  try {
    const answer = await search();
    addCost(answer.engineMs);
    return answer;
  } catch (error) {
    // After a client has left, its search runs on in the engine.
    const elapsedMs = signal.aborted ? performance.now() - begun : 0;
    addCost((error instanceof ServiceError ? error.usedMs : undefined) ?? elapsedMs);
    throw error;
  }
}

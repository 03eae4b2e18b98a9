import { servicePrincipal } from '@kr/caller';
import { definitions } from '@kr/contracts';
import type { AdminEndpoint } from '@kr/local-stack';
import { createClient } from '@kr/rpc';
import { until } from './until.ts';

/**
 * Compares the search index with the services, without repair. Waits while it is being filled or the search service restarts.
 *
 * @throws Error that names entities whose indexed form is missing, stale or a ghost
 */
export async function assertNoDrift(search: AdminEndpoint): Promise<void> {
  const client = createClient(definitions.search, {
    ...search,
    audience: 'search',
    caller: 'operator',
    defaultTimeoutMs: 120_000,
  });
  let failure: unknown;
  try {
    const drift = await until(
      () =>
        client
          .checkDrift({ isRepaired: false }, servicePrincipal('test'))
          .then((answer) => answer.drift)
          .catch((thrown: unknown) => {
            failure = thrown;
            return undefined;
          }),
      { timeoutMs: 120_000, everyMs: 250 },
    ).catch((cause: unknown) => {
      throw new Error('the index could not be compared with the services', { cause: failure ?? cause });
    });
    if (drift.forms.length > 0) {
      const forms = drift.forms.map(
        ({ problem, kind, id, isDraft }) => `${problem} ${kind} ${id}${isDraft ? ' (draft)' : ''}`,
      );
      throw new Error(`the index differs from the services: ${forms.join(', ')}`);
    }
  } finally {
    client.close();
  }
}

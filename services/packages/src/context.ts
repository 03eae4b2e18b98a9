import { definitions } from '@kr/contracts';
import { doiStates } from '@kr/doi-registration';
import { type OpenLifecycle, openLifecycle, peer } from '@kr/draft-lifecycle';
import type { Vocabularies } from '@kr/metadata';
import { type Client, createClient } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';
import type { PackagesConfig } from './config.ts';
import { createObservations, type Observations } from './observations.ts';
import { recordsSide } from './package-context/notify-records.ts';
import { packageKind } from './package-kind.ts';

/** Dependencies of the RPC handlers and consumers of packages. The other kind of entity are resources. */
export interface PackagesContext extends OpenLifecycle {
  readonly records: Client<typeof definitions.records>;
  /** The life of resources, as the records service serves it. */
  readonly recordsLifecycle: Client<typeof definitions.lifecycle>;
  readonly observations: Observations;
}

/** Opens the database and the connections to the other services; none of them has to be there yet. */
export function openContext(
  config: PackagesConfig,
  vocabularies: Vocabularies,
  logger: Logger,
): PackagesContext {
  const now = () => new Date();
  const observations = createObservations(logger, now);
  const toRecords = peer('packages', 'records', config.recordsAddress, config.recordsKey, config);
  const records = createClient(definitions.records, toRecords);
  const recordsLifecycle = createClient(definitions.lifecycle, toRecords);
  const lifecycle = openLifecycle(config, recordsLifecycle, {
    kind: packageKind,
    vocabularies,
    doiStates: config.registration && doiStates,
    // A package's draft is unlocked in the transaction that decides its publication, so a lock that is read is valid.
    resolvePublications: async (ids) => new Map(ids.map((id) => [id, 'undecided'])),
    ...recordsSide(records, observations, now),
    logger,
  });
  return {
    ...lifecycle,
    records,
    recordsLifecycle,
    observations,
    async close() {
      // Also closes `recordsLifecycle`.
      await lifecycle.close();
      records.close();
    },
  };
}

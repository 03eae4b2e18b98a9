import { definitions } from '@kr/contracts';
import { doiStates } from '@kr/doi-registration';
import { type LifecycleContext, type OpenLifecycle, openLifecycle, peer } from '@kr/draft-lifecycle';
import { around } from '@kr/failpoint';
import type { Vocabularies } from '@kr/metadata';
import { decisionQuery } from '@kr/publication-decisions';
import { createClient } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';
import { type ListVersionResources, removeFromPackages, versionResources } from './clients.ts';
import type { RecordsConfig } from './config.ts';
import { recordKind } from './record-kind.ts';

/** Dependencies of the RPC handlers and consumers of records. The other kind of entity are packages. */
export interface RecordsContext extends LifecycleContext, Pick<OpenLifecycle, 'findOtherKind'> {
  readonly listVersionResources: ListVersionResources;
}

/** Opens the database and the connections to the other services; none of them has to be there yet. */
export function openContext(
  config: RecordsConfig,
  vocabularies: Vocabularies,
  logger: Logger,
): RecordsContext & OpenLifecycle {
  const toPackages = peer('records', 'packages', config.packagesAddress, config.packagesKey, config);
  const publications = createClient(definitions.publications, toPackages);
  const packages = createClient(definitions.packages, toPackages);
  const lifecycle = openLifecycle(config, createClient(definitions.lifecycle, toPackages), {
    kind: recordKind,
    vocabularies,
    doiStates: config.registration && doiStates,
    resolvePublications: around('records.resolve', decisionQuery(publications, 'records')),
    afterDelete: removeFromPackages(packages, logger),
    logger,
  });
  return {
    ...lifecycle,
    listVersionResources: versionResources(packages),
    async close() {
      await lifecycle.close();
      for (const client of [publications, packages]) client.close();
    },
  };
}

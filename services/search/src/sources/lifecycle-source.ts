import { servicePrincipal } from '@kr/caller';
import type { definitions } from '@kr/contracts';
import type { Client } from '@kr/rpc';
import type { EntityKind } from '../engine/search-engine.ts';
import { indexedEntity } from '../index/indexed-entity.ts';
import type { EntitySource } from './entity-source.ts';

export type LifecycleClient = Pick<Client<typeof definitions.lifecycle>, 'fetchForIndex' | 'listIds'>;

const FETCH_SIZE = 200;
const LIST_SIZE = 500;
const TIMEOUT_MS = 10_000;

/** Reads entities from the records and packages services, on the search service's own behalf. */
export function lifecycleSource(clients: Readonly<Record<EntityKind, LifecycleClient>>): EntitySource {
  const principal = () => servicePrincipal('search');
  const options = { timeoutMs: TIMEOUT_MS };
  return {
    fetch: async (kind, ids) => {
      const entities = [];
      const wanted = [...new Set(ids)];
      for (let start = 0; start < wanted.length; start += FETCH_SIZE) {
        const page = wanted.slice(start, start + FETCH_SIZE);
        const { documents } = await clients[kind].fetchForIndex({ ids: page }, principal(), options);
        entities.push(...documents.map((document) => indexedEntity(document, kind)));
      }
      return entities;
    },
    list: async (kind, afterId) => {
      const { ids } = await clients[kind].listIds({ afterId, limit: LIST_SIZE }, principal(), options);
      return ids;
    },
  };
}

import { servicePrincipal } from '@kr/caller';
import type { definitions } from '@kr/contracts';
import type { Vocabularies } from '@kr/metadata';
import type { Client } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { EntityKind, IndexedEntity } from '../documents/entity.ts';
import type { Tombstone } from '../engine/search-engine.ts';
import type { EntitySource } from './entity-source.ts';
import { indexedEntity } from './indexed-entity.ts';

export type LifecycleClient = Pick<Client<typeof definitions.lifecycle>, 'fetchForIndex' | 'listIds'>;

const FETCH_SIZE = 200;
/** A page of documents may be large. */
const TIMEOUT_FACTOR = 2;

/** Reads entities from the records and packages services, on the search service's own behalf. */
export function lifecycleSource(
  clients: Readonly<Record<EntityKind, LifecycleClient>>,
  vocabularies: Vocabularies,
): EntitySource {
  const principal = () => servicePrincipal('search');
  const options = { timeoutFactor: TIMEOUT_FACTOR };
  /** In two halves where the documents are too large for one answer. */
  const fetchPage = async (
    kind: EntityKind,
    ids: string[],
    onRemoved?: (removed: Tombstone) => void,
  ): Promise<IndexedEntity[]> => {
    try {
      const { documents, removed } = await clients[kind].fetchForIndex({ ids }, principal(), options);
      for (const { id, parentId, revision } of removed)
        onRemoved?.({ id, form: 'published', kind, parentId, revision });
      return documents.map((document) => indexedEntity(document, kind, vocabularies));
    } catch (error) {
      if (!isTooLarge(error) || ids.length === 1) throw error;
      const half = Math.ceil(ids.length / 2);
      return [
        ...(await fetchPage(kind, ids.slice(0, half), onRemoved)),
        ...(await fetchPage(kind, ids.slice(half), onRemoved)),
      ];
    }
  };
  return {
    fetch: async (kind, ids, onRemoved) => {
      const entities = [];
      const unique = [...new Set(ids)];
      for (let start = 0; start < unique.length; start += FETCH_SIZE)
        entities.push(...(await fetchPage(kind, unique.slice(start, start + FETCH_SIZE), onRemoved)));
      return entities;
    },
    list: async (kind, afterId, limit) => {
      const { ids } = await clients[kind].listIds({ afterId, limit }, principal(), options);
      return ids;
    },
  };
}

function isTooLarge(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'answer_too_large';
}

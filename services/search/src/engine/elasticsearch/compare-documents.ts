import { isDeepStrictEqual } from 'node:util';
import type { Client } from '@elastic/elasticsearch';
import type { EntityKind, IndexDifference, IndexedEntity } from '../search-engine.ts';
import { expectedFlags, FLAGS, isSame } from './decide-changes.ts';
import { documentPages, readHeads, type WantedDocuments } from './documents.ts';
import { documentId, type StoredContent, type StoredFlags, storedContent } from './stored-document.ts';

/** The differences between the index and the expected documents of these ids. */
export async function compareDocuments(
  client: Client,
  index: string,
  { kind, ids, entities }: { kind: EntityKind; ids: readonly string[]; entities: readonly IndexedEntity[] },
): Promise<IndexDifference[]> {
  const stored = new Map<string, StoredContent & StoredFlags>();
  const about: WantedDocuments = { query: { terms: { id: [...ids] } }, fields: 'all' };
  for await (const page of documentPages<StoredContent & StoredFlags>(client, index, about)) {
    for (const { _source } of page) if (_source !== undefined) stored.set(documentId(_source), _source);
  }
  const siblings = { terms: { parentId: [...new Set(entities.map(({ parentId }) => parentId))] } };
  const expected = expectedFlags(await readHeads(client, index, siblings), new Set(ids), entities);
  const wanted = new Set(entities.map(documentId));
  const ghosts = [...stored].filter(
    ([key, found]) => found.isLive && found.kind === kind && !wanted.has(key),
  );
  return [
    ...entities.flatMap((entity) => {
      const found = stored.get(documentId(entity));
      const problem = problemOf(entity, expected.get(documentId(entity)), found);
      return problem === null ? [] : [difference(entity, problem, found?.revision ?? null)];
    }),
    ...ghosts.map(([, found]) => difference(found, 'ghost', found.revision)),
  ];
}

function problemOf(
  entity: IndexedEntity,
  flags: StoredFlags | undefined,
  found: (StoredContent & StoredFlags) | undefined,
) {
  if (found === undefined || !found.isLive || !found.isAnnounced) return 'missing';
  if (flags === undefined || !isSame(flags, found)) return 'stale';
  const content: Record<string, unknown> = { ...found };
  for (const flag of FLAGS) delete content[flag];
  // As the engine would return it.
  return isDeepStrictEqual(content, JSON.parse(JSON.stringify(storedContent(entity)))) ? null : 'stale';
}

type Form = Pick<IndexDifference, 'id' | 'form' | 'kind' | 'parentId'>;

function difference(
  { id, form, kind, parentId }: Form,
  problem: IndexDifference['problem'],
  revision: string | null,
): IndexDifference {
  return { id, form, kind, parentId, problem, revision };
}

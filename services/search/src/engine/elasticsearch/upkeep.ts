import type { Client } from '@elastic/elasticsearch';
import { ServiceError } from '@kr/service-error';
import type { Query } from './compile-query.ts';
import { decideAnnouncement, decideKeptBack, type Operation } from './decide-changes.ts';
import { carryOut, documentPages, LIVE, readHeads, type WantedDocuments, writeDecided } from './documents.ts';
import { documentId, type StoredFlags, type StoredMark } from './stored-document.ts';

const KEPT_BACK: Query = { bool: { filter: [LIVE, { term: { isAnnounced: false } }] } };

const PARENTS_AT_ONCE = 1_000;

/** Shows all that was kept back, at once: nothing is seen before the refresh at the end. */
export async function announceAll(client: Client, index: string): Promise<void> {
  await client.indices.refresh({ index });
  const parentIds = new Set<string>();
  for (const { parentId } of (await readHeads(client, index, KEPT_BACK)).values()) parentIds.add(parentId);
  const waiting = [...parentIds];
  while (waiting.length > 0) {
    const query: Query = { terms: { parentId: waiting.splice(0, PARENTS_AT_ONCE) } };
    // Each document once: it is not seen changed before the end.
    if (!(await carryOut(client, index, decideAnnouncement(await readHeads(client, index, query))))) {
      throw new ServiceError('unavailable', 'The index is being changed by somebody else.');
    }
  }
  await client.indices.refresh({ index });
}

/** Writes the marks of one index into another, which is empty. */
export async function copyMarks(client: Client, from: string, to: string): Promise<void> {
  const about: WantedDocuments = { query: { bool: { must_not: [LIVE] } }, fields: 'all' };
  for await (const page of documentPages<StoredMark & StoredFlags>(client, from, about)) {
    const operations = page.flatMap(({ _source }): Operation[] => {
      if (_source === undefined) return [];
      const { isLive, isAnnounced, isLatest, isLatestDraft, hasDraft, ...whole } = _source;
      const flags = { isLive, isAnnounced, isLatest, isLatestDraft, hasDraft };
      return [{ documentId: documentId(whole), standing: null, former: null, change: { whole }, flags }];
    });
    await carryOut(client, to, operations);
  }
}

/** Keeps back in one index what is kept back in another. */
export async function keepBackAsIn(client: Client, from: string, to: string): Promise<void> {
  const about = { query: KEPT_BACK, fields: ['id', 'form', 'parentId'] };
  for await (const page of documentPages<Parameters<typeof documentId>[0] & { parentId: string }>(
    client,
    from,
    about,
  )) {
    const found = page.flatMap(({ _source }) => _source ?? []);
    if (found.length === 0) continue;
    const query: Query = { terms: { parentId: [...new Set(found.map(({ parentId }) => parentId))] } };
    const keys = new Set(found.map(documentId));
    await writeDecided(client, to, query, (heads) => decideKeptBack(heads, keys));
  }
}

/** Removes marks that were written before an instant. */
export async function removeMarks(client: Client, index: string, writtenBefore: Date): Promise<void> {
  const query: Query = { range: { buriedAt: { lt: writtenBefore.getTime() } } };
  await writeDecided(client, index, query, (heads) =>
    [...heads].map(([key, { standing, ...flags }]) => ({
      documentId: key,
      standing,
      former: flags,
      change: 'remove',
      flags,
    })),
  );
}

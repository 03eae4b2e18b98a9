import type { Sql } from '@kr/database';
import type { Issue } from '@kr/service-error';
import { externalDoi, type StoredPids, takenDoi } from '../model/pids.ts';

/**
 * The published entities that have one of these DOIs, and those being published with one. DOIs are compared without regard
 * to case (DOI Handbook, 2.4); `doi` is the spelling that was passed.
 */
export async function findDoiOwners(
  sql: Sql,
  dois: readonly string[],
): Promise<readonly { id: string; doi: string }[]> {
  if (dois.length === 0) return [];
  return sql.$queryRawUnsafe<{ id: string; doi: string }[]>(
    `select id, doi from unnest($1::text[]) as doi join version
       on document -> 'pids' -> 'doi' is not null and lower(document -> 'pids' -> 'doi' ->> 'identifier') = lower(doi)
     union
     select id, doi from unnest($1::text[]) as doi join draft
       on document -> 'pids' -> 'doi' is not null and lower(document -> 'pids' -> 'doi' ->> 'identifier') = lower(doi)
         and locked_by is not null`,
    dois,
  );
}

/** The problem of a draft whose external DOI another entity has; empty without one. */
export async function takenDoiIssues(sql: Sql, id: string, pids: StoredPids): Promise<Issue[]> {
  const doi = externalDoi(pids);
  if (doi === undefined) return [];
  const owners = await findDoiOwners(sql, [doi]);
  return owners.every((owner) => owner.id === id) ? [] : [takenDoi(doi)];
}

/** Makes other publications with one of these DOIs wait for the end of this transaction. */
export async function lockDois(tx: Sql, dois: readonly string[]): Promise<void> {
  if (dois.length === 0) return;
  await tx.$queryRawUnsafe(
    `select pg_advisory_xact_lock(hashtextextended(doi, 0))::text
     from (select distinct lower(doi) as doi from unnest($1::text[]) as doi order by 1) as requested`,
    dois,
  );
}

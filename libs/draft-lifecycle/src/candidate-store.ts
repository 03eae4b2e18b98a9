import type { Sql } from '@kr/database';
import { DRAFT_COLUMNS, type DraftRow, draftOf } from './draft-row.ts';
import type { Candidate, PublicationRequest } from './publication-rules.ts';
import type { Removal } from './removal.ts';

/** Input of a vote: as `PublicationRequest`, in the order of its ids. */
export type Wanted = Pick<PublicationRequest, 'packageParentId' | 'ids'>;

/** The first of the requested entities, up to the size of one vote. */
export interface CandidatePart {
  candidates: ReadonlyMap<string, Candidate>;
  /** The ids that are left for another vote. */
  leftIds: readonly string[];
  /** Bytes of the drafts of the part as JSON; 0 without a limit. */
  bytes: number;
}

interface CandidateRow extends DraftRow {
  id: string;
  revision: bigint;
  draft_revision: bigint;
  visible: boolean;
  removal: Removal | null;
  managed_by: string | null;
}

type PartRow = { taken: number; bytes: bigint } & (CandidateRow | { id: null });

const ALL = 'part as (select cardinality($1::text[]) as taken, 0::bigint as bytes)';

// Recursive, so that drafts behind the end of the part are not read. The first is always included.
const FIRST = `
  taking (taken, bytes) as (
    select 0, 0::bigint
    union all
    select taken + 1, bytes + coalesce((
      select octet_length(d.document::text) from draft d join version v on v.id = d.id
      where d.id = ($1::text[])[taken + 1] and not (v.visible and $2::boolean)
    ), 0)
    from taking where taken < cardinality($1::text[]) and bytes < $3::bigint
  ), part as (select max(taken) as taken, max(bytes) as bytes from taking)`;

// A published version of a package and its draft stay unchanged: neither is read.
const loadPart = (part: string) => `
  with recursive ${part}
  select part.taken, part.bytes, c.*
  from part
  left join lateral (
    select v.id, v.revision, v.draft_revision, v.visible, v.removal, p.managed_by,
           ${DRAFT_COLUMNS}
    from version v
    join parent p on p.id = v.parent_id
    left join draft d on d.id = v.id and not (v.visible and $2::boolean)
    where v.id = any(($1::text[])[1:part.taken])
  ) c on true`;

const LOAD_ALL = loadPart(ALL);
const LOAD_FIRST = loadPart(FIRST);

/**
 * The data of the entities that a vote needs; one statement for any number.
 *
 * @param mostBytes of drafts, after which the rest is left for another vote; null takes all
 */
export async function loadCandidates(
  sql: Sql,
  { packageParentId, ids }: Wanted,
  mostBytes: number | null,
): Promise<CandidatePart> {
  const isPackage = packageParentId !== '';
  const rows =
    mostBytes === null
      ? await sql.$queryRawUnsafe<PartRow[]>(LOAD_ALL, ids, isPackage)
      : await sql.$queryRawUnsafe<PartRow[]>(LOAD_FIRST, ids, isPackage, mostBytes);
  const found = rows.filter((row) => row.id !== null);
  return {
    candidates: new Map(found.map((row) => [row.id, candidateOf(row)])),
    leftIds: ids.slice(rows[0]?.taken),
    bytes: Number(rows[0]?.bytes ?? 0),
  };
}

function candidateOf(row: CandidateRow): Candidate {
  const revision = Number(row.revision);
  return {
    id: row.id,
    parent: { managedBy: row.managed_by },
    published: row.visible ? { revision, ...(row.removal !== null && { removal: row.removal }) } : null,
    draft: draftOf(row),
    nextDraftRevision: Math.max(revision, Number(row.draft_revision)) + 1,
  };
}

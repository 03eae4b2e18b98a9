import type { Issue } from '@kr/service-error';
import type { Entity } from './entity.ts';
import type { StoredDocument } from './stored-document.ts';

/** A draft beside its version, as `DRAFT_COLUMNS` has it; all null where there is none. */
export interface DraftRow {
  d_document: StoredDocument | null;
  d_issues: Issue[] | null;
  d_revision: bigint | null;
  d_locked_by: string | null;
  d_created_at: Date | null;
  d_updated_at: Date | null;
}

/** Of a table `draft` that was joined as `d`: what is small. */
export const DRAFT_STATE = `
         d.revision as d_revision, d.locked_by as d_locked_by,
         d.created_at as d_created_at, d.updated_at as d_updated_at`;

/** Of a table `draft` that was joined as `d`. */
export const DRAFT_COLUMNS = `d.document as d_document, d.issues as d_issues, ${DRAFT_STATE}`;

export function draftOf(row: DraftRow): Entity['draft'] {
  const {
    d_document: document,
    d_revision: revision,
    d_created_at: createdAt,
    d_updated_at: updatedAt,
  } = row;
  if (document === null || revision === null || createdAt === null || updatedAt === null) return null;
  return {
    document,
    issues: row.d_issues ?? [],
    revision: Number(revision),
    lockedBy: row.d_locked_by,
    createdAt,
    updatedAt,
  };
}

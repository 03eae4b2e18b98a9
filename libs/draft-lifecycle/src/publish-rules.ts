import { checkMetadata } from '@kr/metadata';
import type { Issue } from '@kr/service-error';
import type { EntityKind } from './entity-kind.ts';
import { filesPublishIssues, publishedFiles } from './files-rules.ts';
import { issue, issuesOf } from './issue-rules.ts';
import type { FileCounts } from './lifecycle-deps.ts';
import { isManagedDoi, oaiPid } from './pids-rules.ts';
import type { Sealed } from './staging-store.ts';
import type { StoredDocument } from './stored-document.ts';

/**
 * Everything that keeps a draft from being published: metadata strictly, then what was found wrong with the rest when
 * it was saved, then its files as they are sealed.
 */
export function publishIssues(
  { document, issues }: { document: StoredDocument; issues: readonly Issue[] },
  kind: EntityKind['name'],
  counts: FileCounts,
): Issue[] {
  return [
    ...checkMetadata(document.metadata, kind, { strict: true }).issues,
    ...issuesOf(issues, 'access'),
    ...issuesOf(issues, 'pids'),
    ...registrationIssues(document),
    ...filesPublishIssues(document.files, counts),
  ];
}

function registrationIssues({ pids, metadata }: StoredDocument): Issue[] {
  const { publisher } = metadata;
  const isNamed = typeof publisher === 'string' && publisher.trim() !== '';
  return isManagedDoi(pids['doi']) && !isNamed
    ? [issue('metadata.publisher', 'Missing publisher field required for DOI registration.')]
    : [];
}

/** Parts of the published document that differ from the draft. */
export function sealedParts(
  draft: StoredDocument,
  id: string,
  counts: FileCounts,
  oaiPrefix: string,
): Sealed {
  const { doi } = draft.pids;
  return {
    files: publishedFiles(draft.files, counts),
    pids: { ...(doi ? { doi } : {}), oai: oaiPid(id, oaiPrefix) },
  };
}

import type { Sql } from '@kr/database';
import type { Issue } from '@kr/service-error';
import { findDoiOwners } from './doi-store.ts';
import { issue } from './issue-rules.ts';
import { type FileCounts, type LifecycleDeps, NO_FILES } from './lifecycle-deps.ts';
import { externalDoi, takenDoi } from './pids-rules.ts';
import type { PublicationPlan, Publishable } from './publication-rules.ts';
import { publishIssues, sealedParts } from './publish-rules.ts';
import type { StagedForm } from './staging-store.ts';

/** Every problem of every draft, by entity; at most one statement for any number. */
export async function problemsOf(
  { kind, findDoisElsewhere }: Pick<LifecycleDeps, 'kind' | 'findDoisElsewhere'>,
  sql: Sql,
  drafts: readonly Publishable[],
  counts: ReadonlyMap<string, FileCounts>,
): Promise<Map<string, Issue[]>> {
  const dois = externalDois(drafts);
  const owners = [
    ...(await findDoiOwners(sql, dois)),
    ...drafts.map(({ id, draft }) => ({ id, doi: externalDoi(draft.document.pids) })),
  ];
  const elsewhere = dois.length === 0 ? new Set<string>() : await findDoisElsewhere(dois);
  const isTaken = (doi: string, id: string) =>
    elsewhere.has(doi) ||
    owners.some((owner) => owner.id !== id && owner.doi?.toLowerCase() === doi.toLowerCase());
  return new Map(
    drafts.map(({ id, draft, published }) => {
      const doi = externalDoi(draft.document.pids);
      const issues = [
        ...(published?.removal === undefined ? [] : [issue('id', 'The record has been deleted.')]),
        ...publishIssues(draft, kind.name, counts.get(id) ?? NO_FILES),
      ];
      const hasIssue = issues.some(({ field }) => field === 'pids.doi');
      return [id, doi !== undefined && !hasIssue && isTaken(doi, id) ? [...issues, takenDoi(doi)] : issues];
    }),
  );
}

/** The external DOIs of these drafts. */
export function externalDois(drafts: readonly Publishable[]): string[] {
  return drafts.flatMap(({ draft }) => externalDoi(draft.document.pids) ?? []);
}

/** Problems listed for one publication. */
const MAX_PROBLEMS_OF_PLAN = 10_000;

/** Everything that keeps what a request names from being published, each with the entity it is about. */
export async function issuesOfPlan(
  deps: Pick<LifecycleDeps, 'kind' | 'findDoisElsewhere'>,
  sql: Sql,
  { drafts, issues }: Pick<PublicationPlan, 'drafts' | 'issues'>,
  counts: ReadonlyMap<string, FileCounts>,
): Promise<Issue[]> {
  const problems = await problemsOf(deps, sql, drafts, counts);
  const ofDrafts = drafts.flatMap(({ id }) =>
    (problems.get(id) ?? []).map((issue) => ({ ...issue, record: id })),
  );
  return [...issues, ...ofDrafts].slice(0, MAX_PROBLEMS_OF_PLAN);
}

/** The form of a draft that will be shown. */
export function stagedForm(
  { oaiPrefix }: Pick<LifecycleDeps, 'oaiPrefix'>,
  { id, draft, nextDraftRevision }: Publishable,
  counts: ReadonlyMap<string, FileCounts>,
): StagedForm {
  return {
    id,
    sealed: sealedParts(draft.document, id, counts.get(id) ?? NO_FILES, oaiPrefix),
    revision: Math.max(draft.revision + 1, nextDraftRevision),
  };
}

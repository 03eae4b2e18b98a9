import type { Issue } from '@kr/service-error';
import { findDoiOwners } from './draft-store.ts';
import { type FileCounts, type LifecycleDeps, NO_FILES } from './lifecycle-deps.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import { externalDoi, takenDoi } from './pids-rules.ts';
import type { PublicationPlan, Publishable } from './publication-rules.ts';
import { publishIssues, sealedParts } from './publish-rules.ts';
import type { StagedForm } from './staging-store.ts';

/** Every problem of every draft, by entity; at most one statement whatever their number. */
export async function problemsOf<Tx extends LifecycleSql>(
  { kind }: Pick<LifecycleDeps<Tx>, 'kind'>,
  sql: LifecycleSql,
  drafts: readonly Publishable[],
  counts: ReadonlyMap<string, FileCounts>,
): Promise<Map<string, Issue[]>> {
  const dois = drafts.flatMap(({ draft }) => externalDoi(draft.document.pids) ?? []);
  const owners = await findDoiOwners(sql, dois);
  return new Map(
    drafts.map(({ id, draft }) => {
      const doi = externalDoi(draft.document.pids);
      const isTaken = doi !== undefined && owners.some((owner) => owner.doi === doi && owner.id !== id);
      const issues = publishIssues(draft, kind.name, counts.get(id) ?? NO_FILES);
      return [
        id,
        isTaken && !issues.some(({ field }) => field === 'pids.doi') ? [...issues, takenDoi(doi)] : issues,
      ];
    }),
  );
}

/** Problems listed for one publication. */
const MAX_PROBLEMS_OF_PLAN = 10_000;

/** Everything that keeps what a request names from being published, each with the entity it is about. */
export async function issuesOfPlan<Tx extends LifecycleSql>(
  deps: Pick<LifecycleDeps<Tx>, 'kind'>,
  sql: LifecycleSql,
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
export function stagedForm<Tx extends LifecycleSql>(
  { oaiPrefix }: Pick<LifecycleDeps<Tx>, 'oaiPrefix'>,
  { id, draft, nextDraftRevision }: Publishable,
  counts: ReadonlyMap<string, FileCounts>,
): StagedForm {
  return {
    id,
    sealed: sealedParts(draft.document, id, counts.get(id) ?? NO_FILES, oaiPrefix),
    revision: Math.max(draft.revision + 1, nextDraftRevision),
  };
}

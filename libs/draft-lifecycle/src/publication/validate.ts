import type { ValidateRecordsRequest__Output, ValidateRecordsResponse } from '@kr/contracts';
import type { Sql } from '@kr/database';
import { checkMetadata } from '@kr/metadata';
import type { CallContext } from '@kr/rpc';
import type { Issue } from '@kr/service-error';
import { findEntities, type LifecycleContext, type LifecycleDeps } from '../context/context.ts';
import { assertService, draftLocked } from '../model/access.ts';
import type { StoredDocument } from '../model/entity.ts';
import { type FileCounts, filesPublishIssues, NO_FILES, publishedFiles } from '../model/files.ts';
import { issue, issueMessages, issuesOf } from '../model/issues.ts';
import { externalDoi, isManagedDoi, oaiPid, takenDoi } from '../model/pids.ts';
import { type PublicationPlan, type Publishable, planPublication } from '../model/publication.ts';
import { findDoiOwners } from '../store/dois.ts';
import type { PublishedParts, StagedForm } from '../store/staging.ts';

/**
 * All problems that prevent publishing a draft: metadata by the strict rules, the stored problems of its other parts, and
 * its sealed files.
 */
function validateDraft(
  { document, issues }: { document: StoredDocument; issues: readonly Issue[] },
  { kind, vocabularies }: Pick<LifecycleDeps, 'kind' | 'vocabularies'>,
  counts: FileCounts,
): Issue[] {
  return [
    ...checkMetadata(document.metadata, kind.name, { strict: true, vocabularies }).issues,
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
function publishedParts(
  draft: StoredDocument,
  id: string,
  counts: FileCounts,
  oaiPrefix: string,
): PublishedParts {
  const { doi } = draft.pids;
  return {
    files: publishedFiles(draft.files, counts),
    pids: { ...(doi ? { doi } : {}), oai: oaiPid(id, oaiPrefix) },
  };
}

export type ValidationDeps = Pick<LifecycleDeps, 'kind' | 'vocabularies' | 'findDoisOfOtherKind'>;

/** Every problem of every draft, by entity; at most one statement for any number. */
export async function validateDrafts(
  deps: ValidationDeps,
  sql: Sql,
  drafts: readonly Publishable[],
  counts: ReadonlyMap<string, FileCounts>,
): Promise<Map<string, Issue[]>> {
  const dois = externalDois(drafts);
  const owners = [
    ...(await findDoiOwners(sql, dois)),
    ...drafts.map(({ id, draft }) => ({ id, doi: externalDoi(draft.document.pids) })),
  ];
  const elsewhere = dois.length === 0 ? new Set<string>() : await deps.findDoisOfOtherKind(dois);
  const isTaken = (doi: string, id: string) =>
    elsewhere.has(doi) ||
    owners.some((owner) => owner.id !== id && owner.doi?.toLowerCase() === doi.toLowerCase());
  return new Map(
    drafts.map(({ id, draft, published }) => {
      const doi = externalDoi(draft.document.pids);
      const issues = [
        ...(published?.removal === undefined ? [] : [issue('id', 'The record has been deleted.')]),
        ...validateDraft(draft, deps, counts.get(id) ?? NO_FILES),
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

/** All problems that prevent a publication, each with its entity. */
export async function validatePlan(
  deps: ValidationDeps,
  sql: Sql,
  { drafts, issues }: Pick<PublicationPlan, 'drafts' | 'issues'>,
  counts: ReadonlyMap<string, FileCounts>,
): Promise<Issue[]> {
  const problems = await validateDrafts(deps, sql, drafts, counts);
  const ofDrafts = drafts.flatMap(({ id }) =>
    (problems.get(id) ?? []).map((issue) => ({ ...issue, record: id })),
  );
  return [...issues, ...ofDrafts].slice(0, MAX_PROBLEMS_OF_PLAN);
}

/** The published form of a draft. */
export function stagedForm(
  { oaiPrefix }: Pick<LifecycleDeps, 'oaiPrefix'>,
  { id, draft, nextDraftRevision }: Publishable,
  counts: ReadonlyMap<string, FileCounts>,
): StagedForm {
  return {
    id,
    publishedParts: publishedParts(draft.document, id, counts.get(id) ?? NO_FILES, oaiPrefix),
    revision: Math.max(draft.revision + 1, nextDraftRevision),
  };
}

/**
 * RPC ValidateRecords: the problems that PreparePublication would find, by the same rules; nothing is locked
 * or written. The number of statements does not depend on the number of drafts.
 *
 * @throws ServiceError - `forbidden`: the caller is no service - `conflict` (`draft_locked`): another
 * publication has locked one of the drafts - `unavailable`: one is staged and the coordinator cannot be
 * reached, or the files service does not answer
 */
export function validatePublication(context: LifecycleContext) {
  return async (
    request: ValidateRecordsRequest__Output,
    { principal }: CallContext,
  ): Promise<ValidateRecordsResponse> => {
    assertService(principal);
    const plan = planPublication(request, await findEntities(context, request.ids));
    if (plan.blockedBy !== null) throw draftLocked();
    const drafts = plan.drafts.map(({ id }) => id);
    const counts = drafts.length === 0 ? new Map() : await context.describeBuckets(drafts);
    const deps = { ...context, findDoisOfOtherKind: withPackageDoi(context, request.packageDoi) };
    return { issues: issueMessages(await validatePlan(deps, context.database, plan, counts)) };
  };
}

/** The DOI of the package counts as taken, as it does while the package is being published. */
function withPackageDoi(
  { findDoisOfOtherKind }: Pick<LifecycleContext, 'findDoisOfOtherKind'>,
  packageDoi: string,
): LifecycleContext['findDoisOfOtherKind'] {
  const taken = packageDoi.toLowerCase();
  return async (dois) =>
    new Set([...(await findDoisOfOtherKind(dois)), ...dois.filter((doi) => doi.toLowerCase() === taken)]);
}

import type { ValidateRecordsRequest__Output, ValidateRecordsResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { issueMessages } from './issue-rules.ts';
import { findEntities, type LifecycleContext } from './lifecycle-context.ts';
import { draftLocked } from './lock-rules.ts';
import { assertService } from './permission.ts';
import { planPublication } from './publication-rules.ts';
import { issuesOfPlan } from './publishable.ts';

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
    const deps = { ...context, findDoisElsewhere: withPackageDoi(context, request.packageDoi) };
    return { issues: issueMessages(await issuesOfPlan(deps, context.database, plan, counts)) };
  };
}

/** The DOI of the package counts as taken, as it does while the package is being published. */
function withPackageDoi(
  { findDoisElsewhere }: Pick<LifecycleContext, 'findDoisElsewhere'>,
  packageDoi: string,
): LifecycleContext['findDoisElsewhere'] {
  const taken = packageDoi.toLowerCase();
  return async (dois) =>
    new Set([...(await findDoisElsewhere(dois)), ...dois.filter((doi) => doi.toLowerCase() === taken)]);
}

import { type Principal, servicePrincipal } from '@kr/caller';
import type { EntityProblems, ValidateRequest__Output, ValidateResponse } from '@kr/contracts';
import { assertAllowedOn, getEntity, NO_FILES, notFound, validateOwnDraft } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { Issue } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import { packageSnapshot } from './package-version.ts';
import { subjectOf } from './publish.ts';

/**
 * RPC Validate: by the rules of a publication, on the current drafts and files; nothing is sealed, locked or
 * written.
 *
 * @throws ServiceError - `not_found`: no such entity, or it has no draft - `forbidden`, `unauthenticated`:
 * the caller may not read the draft - `conflict` (`draft_locked`): another publication has locked one of the
 * resources - `unavailable`: the records or the files service cannot be reached
 */
export function validate(context: PackagesContext) {
  const validators = { package: validatePackage(context), record: validateRecord(context) };
  return async (
    { subject, id }: ValidateRequest__Output,
    { principal }: CallContext,
  ): Promise<ValidateResponse> => {
    const issues = await validators[subjectOf(subject)](id, principal);
    return { problems: byEntity(issues, id) };
  };
}

function validatePackage(context: PackagesContext) {
  const { database, records, now } = context;
  return async (id: string, principal: Principal): Promise<Issue[]> => {
    const entity = await getEntity(context, id);
    const { draft, parent } = entity;
    const snapshot = packageSnapshot(entity);
    if (draft === null || snapshot === undefined) throw notFound();
    assertAllowedOn(principal, 'read_draft', entity, draft, now());

    const ids = [...snapshot.resourceIds];
    const ownIssues = async () => {
      const counts = await context.describeBuckets([id]);
      return validateOwnDraft(context, database, id, counts.get(id) ?? NO_FILES);
    };
    const resourceIssues = async () => {
      if (ids.length === 0) return [];
      const self = servicePrincipal('packages', principal.requestId);
      const publicationId = draft.lockedBy ?? '';
      const packageDoi = draft.document.pids['doi']?.identifier ?? '';
      const reply = await records.validateRecords(
        { packageParentId: parent.id, ids, publicationId, packageDoi },
        self,
      );
      return reply.issues;
    };
    const [own, others] = await Promise.all([ownIssues(), resourceIssues()]);
    return [...own, ...others];
  };
}

/** The records service knows the resource and decides for itself. */
function validateRecord({ recordsLifecycle, records }: PackagesContext) {
  return async (id: string, principal: Principal): Promise<Issue[]> => {
    await recordsLifecycle.authorise({ id, form: 'FORM_DRAFT', action: 'read_draft' }, principal);
    const self = servicePrincipal('packages', principal.requestId);
    return (await records.validateRecords({ ids: [id] }, self)).issues;
  };
}

/** Issues that name no record are about the requested entity. */
function byEntity(issues: readonly Issue[], requestedId: string): EntityProblems[] {
  const grouped = Map.groupBy(issues, ({ record }) =>
    record === undefined || record === '' ? requestedId : record,
  );
  return [...grouped].map(([id, ofEntity]) => ({
    id,
    issues: ofEntity.map(({ field, messages }) => ({ field, messages: [...messages] })),
  }));
}

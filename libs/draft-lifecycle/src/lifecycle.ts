import type { definitions } from '@kr/contracts';
import type { Handlers } from '@kr/rpc';
import { authoriseAction } from './authorise-action.ts';
import { awaitEventsSent } from './await-events-sent.ts';
import { createDraft } from './create-draft.ts';
import { createVersion } from './create-version.ts';
import { deleteDraft } from './delete-draft.ts';
import { discardPid } from './discard-pid.ts';
import { documentBudget } from './document-budget.ts';
import { editPublished } from './edit-published.ts';
import { fetchForIndex } from './fetch-for-index.ts';
import { findDois } from './find-dois.ts';
import { findIds } from './find-ids.ts';
import { forgetFiles } from './forget-deleted-files.ts';
import type { LifecycleContext } from './lifecycle-context.ts';
import type { LifecycleDeps } from './lifecycle-deps.ts';
import { listIds } from './list-ids.ts';
import { listVersions } from './list-versions.ts';
import { ownerRoom } from './owner-limits.ts';
import { createPublicationResolver } from './publication-resolver.ts';
import { readAuditLog } from './read-audit-log.ts';
import { readEntities } from './read-entities.ts';
import { readLatest } from './read-latest.ts';
import { listRemovals, removePublished, restorePublished } from './remove-published.ts';
import { reservePid } from './reserve-pid.ts';
import { updateDraft } from './update-draft.ts';

export type LifecycleHandlers = Handlers<typeof definitions.lifecycle>;

/** One memory of decisions for all operations of a process. */
export function lifecycleContext(deps: LifecycleDeps): LifecycleContext {
  return {
    ...deps,
    publications: createPublicationResolver(deps),
    documents: documentBudget(),
    owners: ownerRoom(deps.ownerLimits, deps.now),
  };
}

/** RPC name -> the file that answers it, for one kind of entity. */
export function lifecycleHandlers(context: LifecycleContext): LifecycleHandlers {
  return {
    CreateDraft: createDraft(context),
    ReadEntities: readEntities(context),
    UpdateDraft: updateDraft(context),
    DeleteDraft: deleteDraft(context),
    EditPublished: editPublished(context),
    CreateVersion: createVersion(context),
    ListVersions: listVersions(context),
    ReadLatest: readLatest(context),
    ReservePid: reservePid(context),
    DiscardPid: discardPid(context),
    Authorise: authoriseAction(context),
    ForgetFiles: forgetFiles(context),
    ReadAuditLog: readAuditLog(context),
    FetchForIndex: fetchForIndex(context),
    ListIds: listIds(context),
    FindIds: findIds(context),
    FindDois: findDois(context),
    RemovePublished: removePublished(context),
    RestorePublished: restorePublished(context),
    ListRemovals: listRemovals(context),
    AwaitEventsSent: awaitEventsSent(context),
  };
}

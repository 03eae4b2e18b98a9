import type { Definitions, definitions } from '@kr/contracts';
import type { Callers, Handlers } from '@kr/rpc';
import type { LifecycleContext, LifecycleDeps } from './context/context.ts';
import { ownerRoom } from './context/owner-limits.ts';
import { readAuditLog } from './operations/audit.ts';
import { authoriseAction } from './operations/authorise-action.ts';
import { createDraft } from './operations/create-draft.ts';
import { createVersion } from './operations/create-version.ts';
import { deleteDraft } from './operations/delete-draft.ts';
import { forgetFiles } from './operations/deleted-files.ts';
import { editPublished } from './operations/edit-published.ts';
import { awaitEventsSent, fetchForIndex, findDois, findIds, listIds } from './operations/for-services.ts';
import { discardPid, reservePid } from './operations/pids.ts';
import { listVersions, readEntities, readLatest } from './operations/read-entities.ts';
import { listRemovals, removePublished, restorePublished } from './operations/removal.ts';
import { updateDraft } from './operations/update-draft.ts';
import { createPublicationResolver } from './publication/resolver.ts';
import { documentBudget } from './store/document-budget.ts';

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

/** Callers of the LifecycleService of either kind; the service adds the RPCs that the other kind calls. */
export const LIFECYCLE_CALLERS = {
  gateway: [
    'CreateDraft',
    'ReadEntities',
    'UpdateDraft',
    'DeleteDraft',
    'EditPublished',
    'CreateVersion',
    'ListVersions',
    'ReadLatest',
    'ReservePid',
    'DiscardPid',
    'Authorise',
    'ForgetFiles',
    'ReadAuditLog',
    'RemovePublished',
    'RestorePublished',
    'ListRemovals',
  ],
  search: ['FetchForIndex', 'ListIds', 'AwaitEventsSent'],
} as const satisfies Callers<Definitions['lifecycle']>;

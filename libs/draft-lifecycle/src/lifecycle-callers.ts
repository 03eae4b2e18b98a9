import type { Definitions } from '@kr/contracts';
import type { Callers } from '@kr/rpc';

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

import type { Definitions } from '@kr/contracts';
import type { Callers } from '@kr/rpc';

/** Who calls the LifecycleService of either kind; the service adds what the other kind's asks of it. */
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

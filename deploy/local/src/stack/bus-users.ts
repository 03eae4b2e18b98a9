import type { NatsPermissions, NatsUser } from '../backends/nats.ts';
import type { Caller } from './secrets.ts';
import { SERVICES, type ServiceName } from './service-names.ts';

/** Rights of a service on the bus. It publishes under its name only. */
interface BusRole {
  publishes: boolean;
  /** Its durable consumers: their positions in the stream are its own. */
  durables: readonly string[];
  /** Subjects it listens to as they pass. */
  subscriptions: readonly string[];
}

/** One row a service; another's subjects and consumers are closed to it. */
const ROLES: Record<ServiceName, BusRole> = {
  gateway: {
    publishes: false,
    durables: [],
    subscriptions: [
      'knowledge.records.record.published',
      'knowledge.records.record.changed',
      'knowledge.packages.package.published',
      'knowledge.packages.package.changed',
      'knowledge.packages.resources.changed',
    ],
  },
  records: {
    publishes: true,
    durables: ['records-follow-packages', 'records-follow-links', 'records-clear-deleted-previews'],
    subscriptions: [],
  },
  packages: {
    publishes: true,
    durables: ['packages-drop-deleted-records', 'packages-follow-links', 'packages-clear-deleted-previews'],
    subscriptions: [],
  },
  files: { publishes: true, durables: ['files-remove-buckets'], subscriptions: [] },
  'access-links': { publishes: true, durables: [], subscriptions: [] },
  search: { publishes: false, durables: ['search-index'], subscriptions: [] },
};

const STREAM = 'KNOWLEDGE';

/** The users of the bus: one for each service with just its rights, and the operator. */
export function busUsers(passwords: Record<Caller, string>): NatsUser[] {
  const services = SERVICES.map((name) => ({
    user: name,
    password: passwords[name],
    permissions: permissionsOf(name, ROLES[name]),
  }));
  return [{ user: 'operator', password: passwords.operator }, ...services];
}

function permissionsOf(
  service: ServiceName,
  { publishes, durables, subscriptions }: BusRole,
): NatsPermissions {
  const usesStream = publishes || durables.length > 0;
  const allow = [
    ...(publishes ? [`knowledge.${service}.>`] : []),
    // Only made when it is missing, so that a lost store heals by itself; changing and deleting are the operator's.
    ...(usesStream ? api('INFO', `STREAM.INFO.${STREAM}`, `STREAM.CREATE.${STREAM}`) : []),
    ...(durables.length > 0 ? api(`STREAM.MSG.GET.${STREAM}`) : []),
    ...durables.flatMap(durableRights),
  ];
  return {
    // To the server a list without entries allows everything.
    publish: allow.length > 0 ? { allow } : { deny: ['>'] },
    subscribe: { allow: [`_INBOX_${service}.>`, ...subscriptions] },
  };
}

function durableRights(durable: string): string[] {
  const own = `${STREAM}.${durable}`;
  return [
    ...api(`CONSUMER.INFO.${own}`, `CONSUMER.MSG.NEXT.${own}`),
    // The client library chooses the request by the number of subjects of the consumer.
    ...api(`CONSUMER.CREATE.${own}`, `CONSUMER.CREATE.${own}.>`, `CONSUMER.DURABLE.CREATE.${own}`),
    `$JS.ACK.${own}.>`,
  ];
}

function api(...requests: string[]): string[] {
  return requests.map((request) => `$JS.API.${request}`);
}

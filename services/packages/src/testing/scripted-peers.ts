import type { Principal } from '@kr/caller';
import type {
  ApplyDecisionToBucketsRequest__Output,
  ApplyDecisionToRecordsRequest__Output,
  PreparePublicationRequest__Output,
  RecordDescription,
  SealBucketsRequest__Output,
  ValidateRecordsRequest__Output,
} from '@kr/contracts';
import { definitions } from '@kr/contracts';
import { type Handlers, type Server, serve } from '@kr/rpc';
import type { Issue } from '@kr/service-error';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';

type PrepareReply = {
  isPrepared: boolean;
  blockedBy?: string;
  issues?: Issue[];
  stagedIds?: string[];
  remainingIds?: string[];
  bytes?: string;
};

/** Fake records and files services: their received calls, and their replies. */
export interface ScriptedPeers {
  readonly key: string;
  readonly recordsAddress: string;
  readonly filesAddress: string;
  readonly calls: string[];
  readonly sealed: SealBucketsRequest__Output[];
  readonly prepared: PreparePublicationRequest__Output[];
  readonly validated: ValidateRecordsRequest__Output[];
  readonly decided: ApplyDecisionToRecordsRequest__Output[];
  readonly bucketsDecided: ApplyDecisionToBucketsRequest__Output[];
  readonly mirrored: { packageId: string; revision: string; ids: string[] }[];
  /** The calls with a restriction. */
  readonly restricted: { packageParentId: string; ids: string[]; access: unknown }[];
  readonly associated: { packageParentId: string; ids: string[] }[];
  readonly dissociated: { packageParentId: string; ids: string[] }[];
  /** The principals and causes of calls that set relations of resources. */
  readonly toldBy: Principal[];
  /** Records by id, as they are described. */
  readonly records: Map<string, RecordDescription>;
  /** Replies of the services, beside recording the call; tests replace them. */
  say: {
    seal(request: SealBucketsRequest__Output): Promise<{ isSealed: boolean; blockedBy?: string }>;
    prepare(request: PreparePublicationRequest__Output): Promise<PrepareReply>;
    decide(request: ApplyDecisionToRecordsRequest__Output): Promise<void>;
    applyDecisionToBuckets(request: ApplyDecisionToBucketsRequest__Output): Promise<void>;
    validate(request: ValidateRecordsRequest__Output): Promise<Issue[]>;
    authorise(id: string, form: string): Promise<void>;
    mirror(packageId: string, isRestricted: boolean): Promise<void>;
    associate(packageParentId: string): Promise<void>;
    /** The resources that cannot stay. */
    dissociate(ids: string[]): Promise<string[]>;
  };
  /** Counts of buckets that are not empty. */
  readonly entries: Map<string, number>;
  reset(): void;
  stop(): Promise<void>;
}

export const LOST = new ServiceError('unavailable', 'The reply was lost.');

export async function startScriptedPeers(logger: Logger): Promise<ScriptedPeers> {
  const key = 'k'.repeat(32);
  const willing = (): ScriptedPeers['say'] => ({
    seal: async () => ({ isSealed: true }),
    dissociate: async (ids) => ids,
    prepare: async ({ ids }) => ({ isPrepared: true, stagedIds: ids }),
    decide: async () => undefined,
    applyDecisionToBuckets: async () => undefined,
    validate: async () => [],
    authorise: async () => undefined,
    mirror: async () => undefined,
    associate: async () => undefined,
  });
  const lists = {
    calls: [] as string[],
    sealed: [] as SealBucketsRequest__Output[],
    prepared: [] as PreparePublicationRequest__Output[],
    validated: [] as ValidateRecordsRequest__Output[],
    decided: [] as ApplyDecisionToRecordsRequest__Output[],
    bucketsDecided: [] as ApplyDecisionToBucketsRequest__Output[],
    mirrored: [] as ScriptedPeers['mirrored'][number][],
    restricted: [] as ScriptedPeers['restricted'][number][],
    associated: [] as { packageParentId: string; ids: string[] }[],
    dissociated: [] as { packageParentId: string; ids: string[] }[],
    toldBy: [] as Principal[],
  };
  const records = new Map<string, RecordDescription>();
  const versions = new Map<string, { ids: string[]; restrictionRevision: number }>();
  const entries = new Map<string, number>();
  const peers = { say: willing() };

  const bucket = (entityId: string) => {
    const count = entries.get(entityId) ?? 0;
    const keys = Array.from({ length: count }, (_, index) => `file-${index}`);
    return { entityId, entries: count, pending: 0, totalBytes: String(count * 10), keys };
  };

  const recordsHandlers: Handlers<typeof definitions.records> = {
    async PreparePublication(request) {
      lists.calls.push('prepare');
      lists.prepared.push(request);
      const reply = await peers.say.prepare(request);
      const issues = (reply.issues ?? []).map((issue) => ({ ...issue, messages: [...issue.messages] }));
      return { ...reply, issues };
    },
    async ValidateRecords(request) {
      lists.calls.push('validate');
      lists.validated.push(request);
      const issues = await peers.say.validate(request);
      return { issues: issues.map((issue) => ({ ...issue, messages: [...issue.messages] })) };
    },
    async ApplyDecisionToRecords(request) {
      lists.calls.push(request.isCommitted ? 'records commit' : 'records abort');
      lists.decided.push(request);
      await peers.say.decide(request);
      return {};
    },
    async AssociateRecords(request) {
      await peers.say.associate(request.packageParentId);
      lists.associated.push(request);
      return {};
    },
    async DissociateRecords(request, { principal }) {
      lists.toldBy.push(principal);
      lists.dissociated.push(request);
      return { leavingIds: await peers.say.dissociate(request.ids) };
    },
    async ReadPackageTrail() {
      return { trail: { entries: [], total: 0 } };
    },
    async DescribeRecords({ ids }) {
      return { records: ids.flatMap((id) => records.get(id) ?? []) };
    },
    async SetPackageResources(request, { principal }) {
      const { packageId, revision, ids, packageParentId, accessJson, restrictionRevision } = request;
      lists.toldBy.push(principal);
      await peers.say.mirror(packageId, accessJson.length > 0);
      lists.mirrored.push({ packageId, revision, ids });
      const before = versions.get(packageId) ?? { ids: [], restrictionRevision: 0 };
      const restriction = Math.max(before.restrictionRevision, Number(restrictionRevision));
      versions.set(packageId, { ids, restrictionRevision: restriction });
      const isNew = restriction > before.restrictionRevision;
      const closed = isNew ? ids : ids.filter((id) => !before.ids.includes(id));
      if (accessJson.length > 0 && closed.length > 0) {
        const access: unknown = JSON.parse(accessJson.toString());
        lists.restricted.push({ packageParentId, ids: closed, access });
      }
      return {};
    },
    async ListManagedRecords({ packageParentId }) {
      const managed = [...records.values()].filter(({ managedBy }) => managedBy === packageParentId);
      const ids = managed.map(({ id }) => id ?? '');
      return { ids, publishedIds: ids.slice(1) };
    },
  };
  const filesHandlers: Partial<Handlers<typeof definitions.files>> = {
    async SealBuckets(request) {
      lists.calls.push('seal');
      lists.sealed.push(request);
      return { ...(await peers.say.seal(request)), buckets: request.entityIds.map(bucket) };
    },
    async ApplyDecisionToBuckets(request) {
      lists.calls.push(request.isCommitted ? 'files commit' : 'files abort');
      lists.bucketsDecided.push(request);
      await peers.say.applyDecisionToBuckets(request);
      return {};
    },
    async DescribeBuckets({ entityIds }) {
      return { buckets: entityIds.map(bucket) };
    },
  };
  const lifecycleHandlers: Partial<Handlers<typeof definitions.lifecycle>> = {
    async Authorise({ id, form }) {
      await peers.say.authorise(id, form);
      return {};
    },
    async FindIds({ ids }) {
      const known = [...records.values()].flatMap(({ id, parentId }) => [id, parentId]);
      return { ids: ids.filter((id) => known.includes(id)) };
    },
    async FindDois() {
      return { dois: [] };
    },
  };

  const callerKeys = new Map([['packages', key]]);
  const options = { host: '127.0.0.1', port: 0, callerKeys, logger };
  const callers = { packages: 'all' } as const;
  const servers: Server[] = [
    await serve({
      ...options,
      audience: 'records',
      services: [
        {
          definition: definitions.records,
          handlers: complete(definitions.records, recordsHandlers),
          callers,
        },
        {
          definition: definitions.lifecycle,
          handlers: complete(definitions.lifecycle, lifecycleHandlers),
          callers,
        },
      ],
    }),
    await serve({
      ...options,
      audience: 'files',
      services: [
        { definition: definitions.files, handlers: complete(definitions.files, filesHandlers), callers },
      ],
    }),
  ];
  return {
    key,
    recordsAddress: `127.0.0.1:${servers[0]?.port}`,
    filesAddress: `127.0.0.1:${servers[1]?.port}`,
    ...lists,
    records,
    entries,
    get say() {
      return peers.say;
    },
    set say(next) {
      peers.say = next;
    },
    reset() {
      for (const list of Object.values(lists)) list.length = 0;
      records.clear();
      entries.clear();
      peers.say = willing();
    },
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

/** Every RPC that the script leaves out fails when it is called. */
function complete<Definition extends object>(
  definition: Definition,
  scripted: Partial<Handlers<Definition>>,
): Handlers<Definition> {
  const rest = Object.keys(definition).map((name) => [
    name,
    async () => {
      throw new ServiceError('internal', `${name} is not in the script`);
    },
  ]);
  return { ...Object.fromEntries(rest), ...scripted } as Handlers<Definition>;
}

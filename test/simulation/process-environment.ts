import type { applyDecisionToRecords, LifecycleDeps, preparePublication } from '@kr/draft-lifecycle';
import type { applyDecisionToBuckets, sealBuckets } from '../../services/files/src/buckets/publications.ts';
import type { resolvePublications } from '../../services/packages/src/publish/resume-publications.ts';
import type { MemoryDatabase } from './memory-database.ts';
import type { LifecycleTables } from './memory-lifecycle-store.ts';
import type { PublicationTables } from './memory-publications.ts';
import type { BucketTables } from './memory-seal-store.ts';
import type { Plan } from './plan.ts';
import type { ServiceName, SimulatedProcess } from './simulated-process.ts';
import type { Trace } from './trace.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The handlers of a process. */
export interface PackagesHandlers extends Entities {
  publish(subject: 'package' | 'record', id: string): Promise<string>;
  resolve: ReturnType<typeof resolvePublications>;
}

export interface RecordsHandlers extends Entities {
  prepare: ReturnType<typeof preparePublication>;
  decide: ReturnType<typeof applyDecisionToRecords>;
  authorisePublish(id: string): Promise<void>;
}

export interface FilesHandlers {
  seal: ReturnType<typeof sealBuckets>;
  decide: ReturnType<typeof applyDecisionToBuckets>;
  count(entityIds: readonly string[]): ReturnType<LifecycleDeps['describeBuckets']>;
  add(entityId: string, key: string): Promise<void>;
}

/** Requests of clients for the entities of both kinds. */
export interface Entities {
  /** The change number of the published form. */
  readPublished(id: string): Promise<number>;
  readDraft(id: string): Promise<{ revision: number; title: string }>;
  update(id: string, revision: number, title: string): Promise<void>;
  edit(id: string): Promise<void>;
}

export interface Handlers {
  packages: PackagesHandlers;
  records: RecordsHandlers;
  files: FilesHandlers;
}

/** The environment of a process. */
export interface ProcessEnvironment {
  readonly plan: Plan;
  readonly time: VirtualTime;
  readonly trace: Trace;
  readonly databases: Readonly<Record<ServiceName, MemoryDatabase>>;
  readonly tables: {
    readonly packages: LifecycleTables;
    readonly publications: PublicationTables;
    readonly records: LifecycleTables;
    readonly files: BucketTables;
  };
  date(): Date;
  newUuid(): string;
  /** @throws ServiceError of the handler; `unavailable` without an answer */
  call<Service extends ServiceName, Reply>(
    from: SimulatedProcess,
    service: Service,
    name: string,
    handle: (handlers: Handlers[Service]) => Promise<Reply>,
    timeoutMs?: number,
  ): Promise<Reply>;
}

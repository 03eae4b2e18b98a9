import { type Chance, chance } from './chance.ts';
import { addDraft, addPublished } from './documents.ts';
import { MemoryDatabase } from './memory-database.ts';
import { LifecycleTables } from './memory-lifecycle-store.ts';
import { PublicationTables } from './memory-publications.ts';
import { BucketTables } from './memory-seal-store.ts';
import { Network, type Server } from './network.ts';
import type { Plan } from './plan.ts';
import type { Handlers, ProcessEnvironment } from './process-environment.ts';
import { startFiles, startPackages, startRecords } from './replicas.ts';
import { type ServiceName, SimulatedProcess } from './simulated-process.ts';
import { openTrace, type Trace } from './trace.ts';
import { type VirtualTime, virtualTime } from './virtual-time.ts';

type Servers = { readonly [Service in ServiceName]: Server<Handlers[Service]>[] };

const START = Date.UTC(2026, 0, 1);
const REPLICAS = 2;
const RESTART_MS = 3_000;

/** Three services with two processes each, their databases, and the network between them and their clients. */
export class World implements ProcessEnvironment {
  readonly plan: Plan;
  readonly time: VirtualTime;
  readonly chance: Chance;
  readonly trace: Trace;
  readonly network: Network;
  readonly databases: Readonly<Record<ServiceName, MemoryDatabase>>;
  readonly tables = {
    packages: new LifecycleTables(),
    publications: new PublicationTables(),
    records: new LifecycleTables(),
    files: new BucketTables(),
  };
  /** Represents everything outside the services. */
  readonly clients: SimulatedProcess;
  private readonly servers: Servers = { packages: [], records: [], files: [] };
  private ids = 0;

  constructor(plan: Plan, isTold: boolean) {
    const time = virtualTime();
    const trace = openTrace(time, isTold);
    const deps = { time, trace, faults: plan.faults, chance: chance(plan.seed ^ 0x5eed) };
    this.plan = plan;
    this.time = time;
    this.trace = trace;
    this.chance = deps.chance;
    this.network = new Network(deps);
    this.databases = {
      packages: new MemoryDatabase(deps),
      records: new MemoryDatabase(deps),
      files: new MemoryDatabase(deps),
    };
    this.clients = new SimulatedProcess(deps, 'clients', 'client');
    this.fill();
    for (let at = 0; at < REPLICAS; at += 1) {
      this.start('packages', at);
      this.start('records', at);
      this.start('files', at);
    }
  }

  date(): Date {
    return new Date(START + this.time.now());
  }

  readonly newUuid = (): string => {
    this.ids += 1;
    return `00000000-0000-7000-8000-${String(this.ids).padStart(12, '0')}`;
  };

  call<Service extends ServiceName, Reply>(
    from: SimulatedProcess,
    service: Service,
    name: string,
    handle: (handlers: Handlers[Service]) => Promise<Reply>,
    timeoutMs?: number,
  ): Promise<Reply> {
    const servers = (): readonly Server<Handlers[Service]>[] => this.servers[service];
    return this.network.call({ from, to: { service, servers }, name, timeoutMs, handle });
  }

  /** From here on nothing fails any more; who is dead is started again. */
  calm(): void {
    this.plan.faults.areOn = false;
    this.network.heal();
  }

  private start(service: ServiceName, at: number): void {
    const process = new SimulatedProcess(this, service, `${service}-${at + 1}`);
    process.onEnd(() => {
      this.time.after(this.chance.below(RESTART_MS), () => this.start(service, at));
    });
    switch (service) {
      case 'packages':
        this.servers.packages[at] = startPackages(this, process);
        return;
      case 'records':
        this.servers.records[at] = startRecords(this, process);
        return;
      case 'files':
        this.servers.files[at] = startFiles(this, process);
        return;
    }
  }

  get faults() {
    return this.plan.faults;
  }

  private fill(): void {
    const { packages, publishedBefore } = this.plan;
    const { tables } = this;
    const at = new Date(START);
    for (const { id, parentId, resourceIds } of packages) {
      addDraft(tables.packages, { id, parentId, managedBy: null, kind: 'package', at });
      tables.publications.resources.rows.set(id, resourceIds);
      for (const resourceId of resourceIds) {
        if (tables.records.versions.rows.has(resourceId)) continue;
        const resource = { id: resourceId, parentId: `parent of ${resourceId}`, kind: 'record', at } as const;
        if (resourceId === publishedBefore) addPublished(tables.records, resource);
        else addDraft(tables.records, { ...resource, managedBy: parentId });
        tables.files.buckets.rows.set(resourceId, {
          entityId: resourceId,
          state: resourceId === publishedBefore ? 'immutable' : 'open',
          publicationId: null,
          sealedAt: null,
          revision: 1,
          keys: ['first'],
        });
      }
    }
  }
}

import { ServiceError } from '@kr/service-error';
import type { Begun } from '../publish/begin-publication.ts';
import { type Coordinator, startCoordinator } from '../publish/coordinator.ts';
import { type Participant, type Publication, sealedIds } from '../publish/publication.ts';
import { publish } from '../publish/publish.ts';
import type { Participants, PrepareReply, PublicationLog, SealReply } from '../publish/publish-ports.ts';
import { OUT_OF_TIME } from '../publish/publish-saga.ts';
import { resumeOnce } from '../publish/resume-publications.ts';
import type { VirtualTime } from './virtual-time.ts';

/** How bad the world is. Percentages are of calls. */
export interface Faults {
  readonly lossPercent: number;
  readonly repeatPercent: number;
  readonly slowestMs: number;
  readonly crashPercent: number;
  readonly pausePercent: number;
  /** How long a publication may stay undecided; short ones are aborted while their owner pauses. */
  readonly deadlineMs: number;
}

type Fence = 'prepared' | 'refused' | 'aborted' | 'applied';

/** A participant that keeps the protocol's rules for repeats and latecomers, in memory. */
interface Holder {
  readonly fences: Map<string, { fence: Fence; epoch: number; ids: readonly string[] }>;
  readonly lockedBy: Map<string, string>;
  readonly shown: Map<string, string>;
}

const LEASE_MS = 10_000;

/**
 * The coordinator as it runs in production, in two replicas, on a database, a network and participants that are made up:
 * messages are lost, slow and repeated, replicas crash and pause, connections break inside a commit.
 */
export function simulatedWorld(
  time: VirtualTime,
  faults: Faults,
  packages: ReadonlyMap<string, readonly string[]>,
) {
  const rows = new Map<string, Publication>();
  const drafts = new Map([...packages.keys()].map((id) => [id, null as string | null]));
  const shownPackages = new Map<string, string>();
  const records: Holder = { fences: new Map(), lockedBy: new Map(), shown: new Map() };
  const files: Holder = { fences: new Map(), lockedBy: new Map(), shown: new Map() };
  const violations: string[] = [];
  const seen = { commits: 0, aborts: 0, takeovers: 0, crashes: 0, stalePrepares: 0, lostCommits: 0 };
  let isCalm = false;
  let lastId = 0;

  const row = (id: string): Publication => {
    const found = rows.get(id);
    if (found === undefined) throw new Error(`${id} has no row`);
    return found;
  };
  const write = (next: Publication): Publication => {
    const before = rows.get(next.id);
    if (before !== undefined && isDecided(before) && isCommitted(before) !== isCommitted(next)) {
      violations.push(`${next.id} was ${before.state} and became ${next.state}`);
    }
    rows.set(next.id, next);
    return next;
  };
  const lease = () => new Date(time.now().getTime() + LEASE_MS);

  function abortRow(id: string): Publication {
    seen.aborts += 1;
    const aborted = write({
      ...row(id),
      state: 'ABORTED',
      refusal: OUT_OF_TIME,
      decidedAt: time.now(),
      leaseUntil: lease(),
    });
    if (drafts.get(aborted.entityId) === id) drafts.set(aborted.entityId, null);
    return aborted;
  }

  /** What the database does, in one instant; the connection may break before or after it. */
  async function transaction<T>(alive: () => boolean, run: () => T): Promise<T> {
    await time.sleep(time.below(10));
    if (!alive()) return new Promise(() => undefined);
    if (!isCalm && time.chance(faults.lossPercent)) throw new Error('connection lost before');
    const result = run();
    if (!isCalm && time.chance(faults.lossPercent)) {
      seen.lostCommits += 1;
      throw new Error('connection lost after');
    }
    return result;
  }

  const logOf = (alive: () => boolean): PublicationLog => ({
    renew: (owned) =>
      transaction(alive, () => {
        const found = row(owned.id);
        const isOurs = found.state === 'PREPARING' && found.epoch === owned.epoch;
        return isOurs ? write({ ...found, epoch: found.epoch + 1, leaseUntil: lease() }) : found;
      }),
    async commit(owned, publishedIds) {
      if (!isCalm && time.chance(faults.pausePercent)) await time.sleep(2_000 + time.below(12_000));
      return transaction(alive, () => {
        const found = row(owned.id);
        if (found.state !== 'PREPARING' || found.epoch !== owned.epoch) return found;
        seen.commits += 1;
        if (found.subject === 'package') {
          shownPackages.set(found.entityId, found.id);
          drafts.delete(found.entityId);
        }
        return write({
          ...found,
          state: 'COMMITTED',
          publishedIds,
          decidedAt: time.now(),
          leaseUntil: lease(),
        });
      });
    },
    abort: (owned) =>
      transaction(alive, () => {
        const found = row(owned.id);
        return found.state === 'PREPARING' && found.epoch === owned.epoch ? abortRow(owned.id) : found;
      }),
    read: (id) => transaction(alive, () => rows.get(id)),
    finish: (publication) =>
      transaction(alive, () => {
        const found = row(publication.id);
        const isDone = found.state === 'COMMITTED' || found.state === 'ABORTED';
        if (isDone) write({ ...found, state: found.state === 'COMMITTED' ? 'DONE' : 'ABORT_DONE' });
      }),
    postpone: (publication, applied) =>
      transaction(alive, () => {
        const found = row(publication.id);
        if (found.epoch !== publication.epoch || found.state !== publication.state) return;
        write({ ...found, applied, leaseUntil: new Date(time.now().getTime() + 250) });
      }),
    check: async () => [],
  });

  /** A call over the network: slow, lost on the way there or back, and perhaps delivered once more later. */
  async function call<T>(alive: () => boolean, deliver: () => T): Promise<T> {
    const lost = new ServiceError('unavailable', 'lost');
    await time.sleep(isCalm ? 1 : time.below(faults.slowestMs));
    if (!alive()) return new Promise(() => undefined);
    if (!isCalm && time.chance(faults.lossPercent)) throw lost;
    if (!isCalm && time.chance(faults.repeatPercent)) {
      void time.sleep(time.below(6_000)).then(deliver);
    }
    const reply = deliver();
    if (!isCalm && time.chance(faults.lossPercent)) throw lost;
    return reply;
  }

  function prepareAt(holder: Holder, { id, epoch }: Publication, ids: readonly string[]): Fence | 'blocked' {
    const known = holder.fences.get(id);
    if (known?.fence === 'aborted') seen.stalePrepares += 1;
    if (known !== undefined && !(known.fence === 'refused' && epoch > known.epoch)) return known.fence;
    const blocking = ids.map((one) => holder.lockedBy.get(one)).find((by) => by !== undefined && by !== id);
    if (blocking !== undefined) {
      settle(blocking);
      if (ids.some((one) => (holder.lockedBy.get(one) ?? id) !== id)) return 'blocked';
    }
    const open = ids.filter((one) => !holder.shown.has(one));
    for (const one of open) holder.lockedBy.set(one, id);
    holder.fences.set(id, { fence: 'prepared', epoch, ids: open });
    return 'prepared';
  }

  function decideAt(holder: Holder, id: string, isCommit: boolean): void {
    const known = holder.fences.get(id);
    if (isCommit && known?.fence !== 'prepared' && known?.fence !== 'applied') {
      violations.push(`${id} was committed without the vote of a participant (${known?.fence})`);
    }
    if (!isCommit && known?.fence === 'applied') violations.push(`${id} was aborted after it was shown`);
    if (isCommit && known?.fence === 'prepared') {
      for (const one of known.ids) holder.shown.set(one, id);
    }
    for (const [one, by] of holder.lockedBy) if (by === id) holder.lockedBy.delete(one);
    holder.fences.set(id, { ids: [], epoch: 0, ...known, fence: isCommit ? 'applied' : 'aborted' });
  }

  /** What a participant or a reader does that meets something undecided: it asks, and obeys. */
  function settle(id: string): void {
    const found = rows.get(id);
    if (found === undefined) return;
    const isOverdue =
      found.state === 'PREPARING' && found.deadline < time.now() && found.leaseUntil < time.now();
    const decided = isOverdue ? abortRow(id) : found;
    if (!isDecided(decided)) return;
    for (const holder of [records, files]) {
      if (holder.fences.get(id)?.fence === 'prepared') decideAt(holder, id, isCommitted(decided));
    }
  }

  const participantsOf = (alive: () => boolean): Participants => ({
    seal: (publication) =>
      call(alive, (): SealReply => {
        const ids = sealedIds(publication);
        if (prepareAt(files, publication, ids) !== 'prepared') return { outcome: 'blocked' };
        const manifests = ids.map((entityId) => ({
          entityId,
          entries: 0,
          pending: 0,
          totalBytes: '0',
          keys: [],
        }));
        return { outcome: 'sealed', manifests };
      }),
    prepare: (publication) =>
      call(alive, (): PrepareReply => {
        const vote = prepareAt(records, publication, publication.resourceIds);
        if (vote === 'blocked') return { outcome: 'blocked' };
        const stagedIds = records.fences.get(publication.id)?.ids ?? [];
        return vote === 'prepared' || vote === 'applied'
          ? { outcome: 'prepared', stagedIds }
          : { outcome: 'refused', issues: [] };
      }),
    tell: (participant: Participant, publication) =>
      call(alive, () => {
        decideAt(participant === 'files' ? files : records, publication.id, isCommitted(publication));
      }),
  });

  function startReplica() {
    let isAlive = true;
    const alive = () => isAlive;
    const coordinator: Coordinator = startCoordinator(
      {
        now: time.now,
        sleep: async (ms) => {
          await time.sleep(ms);
          if (!isAlive) await new Promise(() => undefined);
        },
        log: logOf(alive),
        participants: participantsOf(alive),
        observed: () => undefined,
      },
      { blockedMs: 1_000, reachMs: 5_000, retryMs: 100 },
    );
    void keepResuming();

    async function keepResuming(): Promise<void> {
      while (isAlive) {
        await resumeOnce({
          decisions: { claim: (limit) => transaction(alive, () => claim(limit)) },
          coordinator,
          now: time.now,
          resumed: () => {
            seen.takeovers += 1;
          },
          failed: () => undefined,
        });
        await time.sleep(1_000);
      }
    }
    return {
      coordinator,
      begin: (subject: Publication['subject'], entityId: string) =>
        transaction(alive, () => begin(subject, entityId)),
      crash: () => {
        seen.crashes += 1;
        isAlive = false;
      },
    };
  }

  function claim(limit: number): Publication[] {
    const abandoned = [...rows.values()].filter(
      ({ state, leaseUntil }) => state !== 'DONE' && state !== 'ABORT_DONE' && leaseUntil < time.now(),
    );
    return abandoned
      .slice(0, limit)
      .map((found) => write({ ...found, epoch: found.epoch + 1, leaseUntil: lease() }));
  }

  function begin(subject: Publication['subject'], entityId: string): Begun {
    const running = [...rows.values()].find((one) => one.entityId === entityId && one.state === 'PREPARING');
    if (running !== undefined) return { kind: 'joined', publicationId: running.id };
    if (subject === 'package' && !drafts.has(entityId)) return { kind: 'absent' };
    lastId += 1;
    const id = `x${lastId}`;
    if (subject === 'package') drafts.set(entityId, id);
    const publication = write({
      id,
      subject,
      entityId,
      packageParentId: subject === 'package' ? `parent of ${entityId}` : null,
      state: 'PREPARING',
      epoch: 1,
      leaseUntil: lease(),
      deadline: new Date(time.now().getTime() + faults.deadlineMs),
      resourceIds: subject === 'package' ? (packages.get(entityId) ?? []) : [entityId],
      publishedIds: [],
      participants: ['files', 'records'],
      applied: [],
      decidedAt: null,
      refusal: null,
      requestedBy: 'user:1',
    });
    return { kind: 'opened', publication };
  }

  let replicas = [startReplica(), startReplica()];

  return {
    violations,
    seen,
    /** One publish call of a client, at either replica; true when it was answered with yes. */
    async publish(subject: Publication['subject'], entityId: string): Promise<boolean> {
      const replica = replicas[time.below(replicas.length)] ?? startReplica();
      const handler = publish({
        coordinator: replica.coordinator,
        authorise: { package: async () => undefined, record: async () => undefined },
        begin: {
          package: (id) => replica.begin('package', id),
          record: (id) => replica.begin('record', id),
        },
        findRepeat: async (id) =>
          [...rows.values()].reverse().find((one) => one.entityId === id && isCommitted(one))?.id,
        started: () => undefined,
      });
      const deadline = new Date(time.now().getTime() + 10_000);
      const call = {
        principal: { userId: '1', isAdmin: false, grants: [], service: null, requestId: '' },
        signal: new AbortController().signal,
        deadline,
        method: '',
      };
      const name = subject === 'package' ? 'SUBJECT_PACKAGE' : 'SUBJECT_RECORD';
      try {
        await handler({ subject: name, id: entityId, ifRevision: '0' }, call);
        if (subject === 'package' && !shownPackages.has(entityId)) {
          violations.push(`${entityId} was answered with yes and is not published`);
        }
        return true;
      } catch {
        return false;
      }
    },
    /** A client that reads a package and then its resources, and the other way round. */
    read(packageId: string): void {
      const resources = packages.get(packageId) ?? [];
      const isSeen = (id: string): boolean => {
        const holding = records.lockedBy.get(id);
        if (holding !== undefined) settle(holding);
        return records.shown.has(id);
      };
      const before = resources.filter(isSeen);
      const isPackageSeen = shownPackages.has(packageId);
      if (isPackageSeen && before.length < resources.length) {
        violations.push(`${packageId} is visible and ${resources.filter((id) => !isSeen(id))} not`);
      }
      for (const id of before) {
        const by = rows.get(records.shown.get(id) ?? '');
        if (by?.entityId === packageId && !isPackageSeen)
          violations.push(`${id} is visible before ${packageId}`);
      }
    },
    crashOne(): void {
      const at = time.below(replicas.length);
      replicas[at]?.crash();
      replicas = replicas.map((replica, index) => (index === at ? startReplica() : replica));
    },
    /** No more faults. */
    calm(): void {
      isCalm = true;
    },
    /** What must hold when everything has come to rest. */
    checkRest(): void {
      for (const { id, state } of rows.values()) {
        if (state !== 'DONE' && state !== 'ABORT_DONE') violations.push(`${id} is still ${state}`);
      }
      for (const [name, { lockedBy, fences }] of Object.entries({ records, files })) {
        if (lockedBy.size > 0) violations.push(`${name} still hold locks: ${[...lockedBy]}`);
        for (const [id, { fence }] of fences) {
          if (fence === 'prepared') violations.push(`${name} are still prepared for ${id}`);
        }
      }
      for (const [packageId, by] of drafts) {
        if (by !== null) violations.push(`${packageId} is still locked by ${by}`);
      }
      for (const packageId of packages.keys()) this.read(packageId);
    },
  };
}

function isDecided({ state }: Publication): boolean {
  return state !== 'PREPARING';
}

function isCommitted({ state }: Publication): boolean {
  return state === 'COMMITTED' || state === 'DONE';
}

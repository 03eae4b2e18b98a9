import { ServiceError } from '@kr/service-error';
import type { Checker } from './checker.ts';
import type { World } from './world.ts';

/** Concurrent clients. A client without an answer does not know the outcome. */
export class Clients {
  private readonly world: World;
  private readonly checker: Checker;
  private readonly resourceIds: readonly string[];
  private readonly packageIds: readonly string[];
  private edits = 0;

  constructor(world: World, checker: Checker) {
    this.world = world;
    this.checker = checker;
    this.packageIds = world.plan.packages.map(({ id }) => id);
    this.resourceIds = [...new Set(world.plan.packages.flatMap(({ resourceIds }) => resourceIds))];
  }

  start(): void {
    const { publishers, editors, readers } = this.world.plan;
    for (let one = 0; one < publishers; one += 1) void this.keepOn(2_000, () => this.publishSomething());
    for (let one = 0; one < editors; one += 1) void this.keepOn(1_500, () => this.editSomething());
    for (let one = 0; one < readers; one += 1) void this.keepOn(500, () => this.readSomething());
  }

  /** Repeats the request until there is an answer; returns whether it was successful. */
  async publishAtLast(packageId: string): Promise<boolean> {
    for (;;) {
      const answer = await this.publish('package', packageId);
      if (answer !== 'unknown') return answer === 'published';
      await this.world.time.sleep(500);
    }
  }

  private async keepOn(mostMs: number, act: () => Promise<void>): Promise<void> {
    const { time, chance, plan } = this.world;
    while (time.now() < plan.busyMs) {
      await time.sleep(chance.below(mostMs));
      if (time.now() < plan.busyMs) await act();
    }
  }

  private async publishSomething(): Promise<void> {
    const { chance } = this.world;
    if (chance.onceIn(3)) await this.publish('record', chance.oneOf(this.resourceIds));
    else await this.publish('package', chance.oneOf(this.packageIds));
  }

  private async publish(
    subject: 'package' | 'record',
    id: string,
  ): Promise<'published' | 'refused' | 'unknown'> {
    const { world, checker } = this;
    try {
      const publicationId = await world.call(
        world.clients,
        'packages',
        `publish ${id}`,
        (packages) => packages.publish(subject, id),
        10_000,
      );
      checker.publicationAccepted(id, publicationId);
      return 'published';
    } catch (error) {
      const { kind } = ServiceError.from(error);
      world.trace.count(`publish answered ${kind}`);
      return kind === 'unavailable' || kind === 'internal' || kind === 'conflict' ? 'unknown' : 'refused';
    }
  }

  private async editSomething(): Promise<void> {
    const { world } = this;
    const isFile = world.chance.onceIn(3);
    const id = world.chance.oneOf(isFile ? this.resourceIds : [...this.resourceIds, ...this.packageIds]);
    this.edits += 1;
    const edit = this.edits;
    try {
      if (isFile)
        await world.call(world.clients, 'files', `add to ${id}`, (files) => files.add(id, `file-${edit}`));
      else await this.append(id, edit);
    } catch (error) {
      world.trace.count(`edits answered ${ServiceError.from(error).kind}`);
      return;
    }
    world.trace.count('edits acknowledged');
    if (isFile) this.checker.fileAcknowledged(id, `file-${edit}`);
    else this.checker.editAcknowledged(id, edit);
  }

  private async append(id: string, edit: number): Promise<void> {
    const { world } = this;
    const owner = this.packageIds.includes(id) ? 'packages' : 'records';
    const draft = await world
      .call(world.clients, owner, `draft of ${id}`, (entities) => entities.readDraft(id))
      .catch(async (error: unknown) => {
        if (ServiceError.from(error).kind !== 'not_found' || !world.chance.onceIn(4)) throw error;
        await world.call(world.clients, owner, `edit ${id}`, (entities) => entities.edit(id));
        return world.call(world.clients, owner, `draft of ${id}`, (entities) => entities.readDraft(id));
      });
    await world.call(world.clients, owner, `update ${id}`, (entities) =>
      entities.update(id, draft.revision, `${draft.title} ${edit}`),
    );
  }

  /** A package and then its resources, or the other way round, one after the other. */
  private async readSomething(): Promise<void> {
    const { chance, plan } = this.world;
    const { id, resourceIds } = chance.oneOf(plan.packages);
    const ids = [id, ...resourceIds];
    for (const one of chance.onceIn(2) ? ids : ids.reverse()) await this.read(one);
  }

  private async read(id: string): Promise<void> {
    const { world, checker } = this;
    const owner = this.packageIds.includes(id) ? 'packages' : 'records';
    const expected = checker.expectation(id);
    const revision = await world
      .call(world.clients, owner, `read ${id}`, (entities) => entities.readPublished(id))
      .catch((error: unknown) => {
        const { kind } = ServiceError.from(error);
        if (kind === 'not_found') return 0;
        world.trace.count(`reads answered ${kind}`);
        return undefined;
      });
    world.trace.count('reads');
    if (revision !== undefined) checker.readAnswered(id, revision, expected);
  }
}

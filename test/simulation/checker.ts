import type { VersionRow } from './memory-lifecycle-store.ts';
import type { PublicationRow } from './memory-publications.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { World } from './world.ts';

/** The oldest result allowed for a read that begins now: the change number of the published form, 0 for none. */
export interface Expectation {
  readonly revision: number;
}

interface Shown {
  readonly publicationId: string;
  readonly revision: number;
}

/**
 * The guarantees. It observes the answers to clients and the commits, not the work of the services.
 *
 * 1. No reader sees half a publication: after one part, it sees every other part.
 * 2. A visible version neither disappears nor becomes older.
 * 3. Every read after a successful answer to a publication sees it.
 * 4. A decision never changes, and an owner with an expired lease decides nothing.
 * 5. Every visible version belongs to a committed publication.
 * In addition, at rest:
 * 6. All or nothing: every entity of a committed publication is published, and no lock, staged version or open publication
 *    is left.
 * 7. No acknowledged edit or file is lost or duplicated, and published forms contain them all.
 * 8. One event of each kind for each publication and entity, none for unchanged entities.
 * 9. A repeated request returns the same result.
 * 10. The trail has each edit once, and each publication of each entity once, with its actor.
 */
export class Checker {
  private readonly world: World;
  /** The change number at which an entity was seen, by anybody. */
  private readonly seen = new Map<string, number>();
  /** Versions by entity, in the order in which they became visible. */
  private readonly shown = new Map<string, Shown[]>();
  /** Which process may decide a publication. */
  private readonly owners = new Map<string, SimulatedProcess>();
  private readonly edits = new Map<string, number[]>();
  private readonly files = new Map<string, string[]>();

  constructor(world: World) {
    this.world = world;
    const { publications, packages, records, files } = world.tables;
    const countParticipation = (of: string, before?: { state: string }, after?: { state: string }): void =>
      world.trace.count(`${of}: ${before?.state ?? 'unheard of'} to ${after?.state ?? 'forgotten'}`);
    records.participants.changed = (before, after) => countParticipation('records', before, after);
    files.participations.changed = (before, after) => countParticipation('files', before, after);
    publications.publications.changed = (before, after, by) => this.publicationChanged(before, after, by);
    for (const { versions } of [packages, records]) {
      versions.changed = (before, after) => this.versionChanged(before, after);
    }
  }

  expectation(id: string): Expectation {
    return { revision: this.seen.get(id) ?? 0 };
  }

  readAnswered(id: string, revision: number, expected: Expectation): void {
    const { trace } = this.world;
    if (revision < expected.revision) {
      const found = revision === 0 ? 'nothing' : `revision ${revision}`;
      trace.violation(`a reader of ${id} found ${found} after revision ${expected.revision} had been seen`);
    }
    if (revision > 0) this.see(id, revision);
  }

  publicationAccepted(id: string, publicationId: string): void {
    const { trace, tables } = this.world;
    trace.note(() => `publication ${publicationId} of ${id} is answered with yes`);
    trace.count('publications accepted');
    const row = tables.publications.publications.rows.get(publicationId);
    if (row === undefined || !isCommitted(row)) {
      trace.violation(`publication ${publicationId} of ${id} is answered with yes and is ${row?.state}`);
      return;
    }
    this.seeAll(row);
  }

  editAcknowledged(id: string, edit: number): void {
    put(this.edits, id, edit);
  }

  fileAcknowledged(id: string, key: string): void {
    put(this.files, id, key);
  }

  /** One part that was seen lets everybody see the whole. */
  private see(id: string, revision: number): void {
    if ((this.seen.get(id) ?? 0) >= revision) return;
    this.seen.set(id, revision);
    for (const { publicationId, revision: shownAt } of this.shown.get(id) ?? []) {
      if (shownAt > revision) continue;
      const row = this.world.tables.publications.publications.rows.get(publicationId);
      if (row !== undefined) this.seeAll(row);
    }
  }

  /** A publication is visible before it is applied, so its content follows from its parts. */
  private seeAll({ id, publishedIds, subject, entityId }: PublicationRow): void {
    const parts = new Set(subject === 'package' ? [entityId, ...publishedIds] : publishedIds);
    for (const part of parts) {
      const shownAt = this.shown.get(part)?.find(({ publicationId }) => publicationId === id)?.revision;
      const revision = shownAt ?? this.stagedBy(id, part);
      this.seen.set(part, Math.max(this.seen.get(part) ?? 0, revision));
    }
  }

  private stagedBy(publicationId: string, id: string): number {
    const version = this.world.tables.records.versions.rows.get(id);
    return version?.staged?.publicationId === publicationId
      ? Math.max(version.revision + 1, version.staged.revision)
      : 1;
  }

  private publicationChanged(
    before: PublicationRow | undefined,
    after: PublicationRow | undefined,
    by: SimulatedProcess,
  ): void {
    const { trace } = this.world;
    if (after === undefined) return;
    if (before?.epoch !== after.epoch) this.owners.set(after.id, by);
    if (before === undefined || before.state === after.state) return;
    this.checkDecider(before, after, by);
    trace.note(() => `publication ${after.id} of ${after.entityId} is ${after.state}`);
    const isLegal =
      before.state === 'PREPARING'
        ? after.state === 'COMMITTED' || after.state === 'ABORTED'
        : `${before.state} ${after.state}` === 'COMMITTED DONE' ||
          `${before.state} ${after.state}` === 'ABORTED ABORT_DONE';
    if (!isLegal) trace.violation(`publication ${after.id} was ${before.state} and became ${after.state}`);
  }

  private checkDecider(before: PublicationRow, after: PublicationRow, by: SimulatedProcess): void {
    const owner = this.owners.get(after.id);
    if (before.state !== 'PREPARING' || owner === by) return;
    const now = this.world.date();
    const isOverdue = before.deadline < now && before.leaseUntil < now;
    if (after.state === 'ABORTED' && isOverdue)
      this.world.trace.count('publications aborted for a participant');
    else
      this.world.trace.violation(
        `${by.name} made ${after.id} ${after.state}, which belongs to ${owner?.name}`,
      );
  }

  private versionChanged(before: VersionRow | undefined, after: VersionRow | undefined): void {
    const { trace, tables } = this.world;
    if (after === undefined || before === undefined || before.document === after.document) return;
    const { id, revision } = after;
    trace.note(() => `${id} shows revision ${revision}`);
    if (before.document !== null) trace.count('published again');
    if (revision <= before.revision)
      trace.violation(`${id} went from revision ${before.revision} to ${revision}`);
    // The package's own form is staged and shown in one transaction: its publication is the one being committed.
    const own = before.staged?.publicationId;
    const publication =
      own === undefined
        ? [...tables.publications.publications.rows.values()].findLast(
            (row) => row.entityId === id && row.state !== 'DONE' && row.state !== 'ABORT_DONE',
          )
        : tables.publications.publications.rows.get(own);
    if (publication === undefined) {
      trace.violation(`${id} is visible without a publication`);
      return;
    }
    if (own !== undefined && !isCommitted(publication)) {
      trace.violation(`${id} is shown by ${publication.id}, which is ${publication.state}`);
    }
    put(this.shown, id, { publicationId: publication.id, revision });
  }

  /** Whether nothing is left to be done. */
  isAtRest(): boolean {
    return this.unfinished().length === 0;
  }

  checkRest(): void {
    for (const what of this.unfinished()) this.world.trace.violation(`at rest: ${what}`);
    this.checkAllOrNothing();
    this.checkEdits();
    this.checkFiles();
    this.checkEvents();
    this.checkTrail();
  }

  checkAnswers(answers: readonly { id: string; isAccepted: boolean }[]): void {
    const { tables, trace } = this.world;
    for (const { id, isAccepted } of answers) {
      const isPublished = tables.packages.versions.rows.get(id)?.document !== null;
      if (isAccepted !== isPublished) {
        trace.violation(
          `${id} is ${isPublished ? '' : 'not '}published and a repeated request returns ${isAccepted ? 'yes' : 'no'}`,
        );
      }
    }
  }

  private unfinished(): string[] {
    const { tables } = this.world;
    const found: string[] = [];
    for (const { id, state } of tables.publications.publications.rows.values()) {
      if (state !== 'DONE' && state !== 'ABORT_DONE') found.push(`publication ${id} is ${state}`);
    }
    for (const { versions, drafts, participants } of [tables.packages, tables.records]) {
      for (const { id, staged } of versions.rows.values()) if (staged !== null) found.push(`${id} is staged`);
      for (const { id, lockedBy } of drafts.rows.values()) {
        if (lockedBy !== null) found.push(`${id} is locked by ${lockedBy}`);
      }
      for (const { publicationId, state } of participants.rows.values()) {
        if (state === 'prepared') found.push(`the records are prepared for ${publicationId}`);
      }
    }
    for (const { entityId, state } of tables.files.buckets.rows.values()) {
      if (state === 'sealed') found.push(`the files of ${entityId} are sealed`);
    }
    for (const { publicationId, state } of tables.files.participations.rows.values()) {
      if (state === 'prepared') found.push(`the files are prepared for ${publicationId}`);
    }
    return found;
  }

  private checkAllOrNothing(): void {
    const { tables, trace } = this.world;
    for (const row of tables.publications.publications.rows.values()) {
      const parts = new Set(
        row.subject === 'package' ? [row.entityId, ...row.publishedIds] : row.publishedIds,
      );
      for (const part of parts) {
        const times = (this.shown.get(part) ?? []).filter(
          ({ publicationId }) => publicationId === row.id,
        ).length;
        const expected = isCommitted(row) ? 1 : 0;
        if (times !== expected) {
          trace.violation(
            `${part} is shown ${times} times by ${row.id} of ${row.entityId}, which is ${row.state}`,
          );
        }
      }
    }
    for (const { id, resourceIds } of this.world.plan.packages) {
      const isPublished = tables.packages.versions.rows.get(id)?.document !== null;
      const hidden = resourceIds.filter((one) => tables.records.versions.rows.get(one)?.document === null);
      if (isPublished && hidden.length > 0) trace.violation(`${id} is published and ${hidden} not`);
    }
  }

  private checkEdits(): void {
    const { tables, trace } = this.world;
    for (const { versions, drafts } of [tables.packages, tables.records]) {
      for (const { id, document } of versions.rows.values()) {
        const last = drafts.rows.get(id)?.document ?? document;
        const there = editsOf(last?.metadata);
        const lost = (this.edits.get(id) ?? []).filter((edit) => !there.includes(edit));
        if (lost.length > 0) trace.violation(`the acknowledged edits ${lost} of ${id} are lost: ${there}`);
        if (new Set(there).size < there.length) trace.violation(`${id} has an edit twice: ${there}`);
        const published = editsOf(document?.metadata);
        if (document !== null && published.join() !== there.slice(0, published.length).join()) {
          trace.violation(`${id} is published with ${published} and its draft has ${there}`);
        }
      }
    }
  }

  private checkFiles(): void {
    const { tables, trace } = this.world;
    for (const { entityId, state, keys } of tables.files.buckets.rows.values()) {
      const lost = (this.files.get(entityId) ?? []).filter((key) => !keys.includes(key));
      if (lost.length > 0) trace.violation(`the acknowledged files ${lost} of ${entityId} are lost`);
      const document = tables.records.versions.rows.get(entityId)?.document;
      if (document === undefined) continue;
      if ((document !== null) !== (state === 'immutable')) {
        trace.violation(
          `${entityId} is ${document === null ? 'not ' : ''}published and its files are ${state}`,
        );
      }
      if (document !== null && document.files.entries !== keys.length) {
        trace.violation(`${entityId} is published with ${document.files.entries} of ${keys.length} files`);
      }
    }
  }

  private checkEvents(): void {
    const { tables, trace } = this.world;
    for (const { outbox, versions } of [tables.packages, tables.records]) {
      const events = [...outbox.rows.values()].map(
        ({ subject, aggregateId, revision }) => `${subject} of ${aggregateId} at ${revision}`,
      );
      if (new Set(events).size < events.length) trace.violation(`an event is there twice: ${events.sort()}`);
      for (const id of versions.rows.keys()) {
        const announced = events.filter((event) => event.includes(`.published of ${id} at`)).length;
        const shown = (this.shown.get(id) ?? []).length;
        if (announced !== shown)
          trace.violation(`${id} was shown ${shown} times and has ${announced} events`);
      }
    }
  }

  private checkTrail(): void {
    const { tables, trace } = this.world;
    for (const { outbox, trail, versions } of [tables.packages, tables.records]) {
      const events = [...outbox.rows.values()];
      for (const id of versions.rows.keys()) {
        const entries = [...trail.rows.values()].filter(({ entityId }) => entityId === id);
        const published = entries.filter(({ action }) => action.endsWith('.publish'));
        const recorded = published.map(
          ({ metadata, actor }) => `${metadata['publication']} by ${actor.requestId}`,
        );
        const shown = (this.shown.get(id) ?? []).map(({ publicationId }) => {
          const row = tables.publications.publications.rows.get(publicationId);
          return `${publicationId} by ${row?.actor?.requestId}`;
        });
        if (recorded.sort().join() !== shown.sort().join())
          trace.violation(`${id} was shown by ${shown} and its trail contains ${recorded}`);
        const saved = events.filter(
          ({ subject, aggregateId }) => aggregateId === id && subject.endsWith('.draft.saved'),
        ).length;
        const edits = entries.length - published.length;
        if (edits !== saved)
          trace.violation(`${id} was saved ${saved} times and its trail contains ${edits}`);
      }
    }
  }
}

function isCommitted({ state }: PublicationRow): boolean {
  return state === 'COMMITTED' || state === 'DONE';
}

/** The numbers in a title, in order. */
function editsOf(metadata: Readonly<Record<string, unknown>> | undefined): number[] {
  return String(metadata?.['title'] ?? '')
    .split(' ')
    .slice(1)
    .map(Number);
}

function put<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

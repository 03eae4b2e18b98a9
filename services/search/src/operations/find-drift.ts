import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { Throttle } from '../consume/pages.ts';
import { listIdPages } from '../consume/pages.ts';
import type { EntityKind } from '../documents/entity.ts';
import type { IndexDifference } from '../engine/search-engine.ts';
import type { SearchIndex } from '../index/search-index.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { fetchReadable } from '../sources/entity-source.ts';

export interface DriftDeps {
  index: SearchIndex;
  source: EntitySource;
  /** To searches: comparing takes documents apart as indexing does. */
  throttle: Pick<Throttle, 'pauseAfter'>;
  /** Whether the index has applied all events of changes committed before the call. */
  hasArrived: () => Promise<boolean>;
  logger: Pick<Logger, 'error'>;
}

export interface Drift {
  /** Entities that were compared. */
  entities: number;
  differences: readonly IndexDifference[];
  /** Entities that cannot be read, and were not compared. */
  unreadable: number;
  /** Those of the differences that were mended. */
  repaired: readonly IndexDifference[];
}

/** Entities that are compared at once. */
const PAGE = 200;
/** So often in a row, each time after the events have arrived, something has to differ in the same way. */
const CONFIRMATIONS = 2;
/** How often their arrival is waited for, each time as long as `hasArrived` does. */
const ARRIVALS = 10;

/**
 * Compares the index with the services, page by page, during concurrent changes. A first difference may be
 * an event in flight; it is drift if the same difference remains after all events have arrived.
 * @throws ServiceError `unavailable` when a service is unavailable, or when events do not arrive
 */
export async function findDrift(deps: DriftDeps, isRepaired: boolean, signal: AbortSignal): Promise<Drift> {
  let entities = 0;
  let unreadable = 0;
  let found: IndexDifference[] = [];
  const take = (compared: Compared) => {
    unreadable += compared.unreadable;
    found.push(...compared.differences);
  };
  // Forms in the index: stale and deleted ones, and missing forms of partly known entities.
  for await (const { kind, ids } of listIdPages(deps.index.listIds, () => PAGE, signal)) {
    entities += ids.length;
    take(await throttled(deps, () => compare(deps, kind, ids)));
  }
  // Unknown entities.
  for await (const { kind, ids } of listIdPages(deps.source.list, () => PAGE, signal)) {
    await throttled(deps, async () => {
      const unknown = await unknownOf(deps.index, kind, ids);
      entities += unknown.length;
      take(await compare(deps, kind, unknown));
    });
  }
  for (let round = 0; round < CONFIRMATIONS && found.length > 0; round += 1) {
    await arrival(deps, signal);
    found = await stillDiffering(deps, found, signal);
  }
  signal.throwIfAborted();
  const repaired = isRepaired ? await repair(deps, found, signal) : [];
  return { entities, unreadable, differences: found, repaired };
}

async function throttled<Result>({ throttle }: DriftDeps, work: () => Promise<Result>): Promise<Result> {
  const begun = performance.now();
  const result = await work();
  await throttle.pauseAfter(performance.now() - begun);
  return result;
}

interface Compared {
  differences: IndexDifference[];
  unreadable: number;
}

async function compare(
  { index, source, logger }: DriftDeps,
  kind: EntityKind,
  ids: readonly string[],
): Promise<Compared> {
  if (ids.length === 0) return { differences: [], unreadable: 0 };
  const { entities, unreadable } = await fetchReadable(source, logger, kind, ids);
  const differences = await index.compare(kind, without(ids, unreadable), entities);
  return { differences, unreadable: unreadable.length };
}

function without(ids: readonly string[], unreadable: readonly { id: string }[]): readonly string[] {
  const left = new Set(unreadable.map(({ id }) => id));
  return ids.filter((id) => !left.has(id));
}

/** Compared with nothing, everything that can be found of an entity is a ghost. */
async function unknownOf(
  index: SearchIndex,
  kind: EntityKind,
  ids: readonly string[],
): Promise<readonly string[]> {
  const known = new Set((await index.compare(kind, ids, [])).map(({ id }) => id));
  return ids.filter((id) => !known.has(id));
}

async function arrival({ hasArrived }: DriftDeps, signal: AbortSignal): Promise<void> {
  for (let asked = 0; asked < ARRIVALS; asked += 1) {
    signal.throwIfAborted();
    if (await hasArrived()) return;
  }
  throw new ServiceError('unavailable', 'The index has not caught up with the events; compare it later.', {
    retryAfterMs: 60_000,
  });
}

const same = ({ kind, id, form, problem, revision }: IndexDifference): string =>
  [kind, id, form, problem, revision].join(' ');

async function stillDiffering(
  deps: DriftDeps,
  found: readonly IndexDifference[],
  signal: AbortSignal,
): Promise<IndexDifference[]> {
  const before = new Set(found.map(same));
  const again: IndexDifference[] = [];
  for (const { kind, ids } of pagesIn(found)) {
    signal.throwIfAborted();
    const { differences } = await compare(deps, kind, ids);
    again.push(...differences.filter((difference) => before.has(same(difference))));
  }
  // One that the index has as another kind is a ghost of that kind too, and no more when it is mended.
  const forms = new Set(again.filter(({ problem }) => problem !== 'ghost').map(formOf));
  return again.filter((one) => one.problem !== 'ghost' || !forms.has(formOf(one)));
}

const formOf = ({ id, form }: IndexDifference): string => `${form} ${id}`;

/** Compares again and repairs in one step. @returns the forms that differed and were repaired */
async function repair(
  { index, source, logger }: DriftDeps,
  found: readonly IndexDifference[],
  signal: AbortSignal,
): Promise<IndexDifference[]> {
  const drifted = new Set(found.map(same));
  const repaired: IndexDifference[] = [];
  for (const { kind, ids } of pagesIn(found)) {
    signal.throwIfAborted();
    const { entities, unreadable } = await fetchReadable(source, logger, kind, ids);
    const compared = await index.compare(kind, without(ids, unreadable), entities);
    const differences = compared.filter((one) => drifted.has(same(one)));
    if (differences.length > 0) await index.repair(differences, entities);
    repaired.push(...differences);
  }
  return repaired;
}

/** Siblings beside each other: what one of them is may follow from another that differs. */
function* pagesIn(differences: readonly IndexDifference[]) {
  const byParent = [...Map.groupBy(differences, ({ parentId }) => parentId).values()].flat();
  for (const kind of ['record', 'package'] as const) {
    const ids = [...new Set(byParent.filter((one) => one.kind === kind).map(({ id }) => id))];
    for (let start = 0; start < ids.length; start += PAGE)
      yield { kind, ids: ids.slice(start, start + PAGE) };
  }
}

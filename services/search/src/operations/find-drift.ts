import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import { ENTITY_KINDS, type EntityKind, type IndexedEntity } from '../documents/entity.ts';
import type { IndexDifference } from '../engine/search-engine.ts';
import type { SearchIndex } from '../index/search-index.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { fetchReadable } from '../sources/entity-source.ts';
import type { Throttle } from './pages.ts';
import { listIdPages } from './pages.ts';

export interface DriftDeps {
  index: SearchIndex;
  source: EntitySource;
  /** Gives precedence to searches. */
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
  /** The repaired ones among the differences. */
  repaired: readonly IndexDifference[];
}

/** Entities that are compared at once. */
const PAGE = 200;
/** Further comparisons, each after all events have arrived, that must find the same difference. */
const CONFIRMATIONS = 2;
/** Attempts to wait for the events. */
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
  const add = (compared: Compared) => {
    unreadable += compared.unreadable;
    found.push(...compared.differences);
  };
  // Entities of the index: stale forms, ghosts, and missing second forms.
  for await (const { kind, ids } of listIdPages(deps.index.listIds, () => PAGE, signal)) {
    entities += ids.length;
    add(await throttled(deps, () => compare(deps, kind, ids)));
  }
  // Entities that the index lacks.
  for await (const { kind, ids } of listIdPages(deps.source.list, () => PAGE, signal)) {
    await throttled(deps, async () => {
      const missing = await missingIn(deps.index, kind, ids);
      entities += missing.length;
      add(await compare(deps, kind, missing));
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
  const startedAt = performance.now();
  const result = await work();
  await throttle.pauseAfter(performance.now() - startedAt);
  return result;
}

interface Compared {
  /** The forms of the services. */
  entities: readonly IndexedEntity[];
  differences: IndexDifference[];
  /** The number of entities that cannot be read. */
  unreadable: number;
}

async function compare(
  { index, source, logger }: DriftDeps,
  kind: EntityKind,
  ids: readonly string[],
): Promise<Compared> {
  if (ids.length === 0) return { entities: [], differences: [], unreadable: 0 };
  const { entities, unreadable } = await fetchReadable(source, logger, kind, ids);
  const omitted = new Set(unreadable.map(({ id }) => id));
  const compared = ids.filter((id) => !omitted.has(id));
  const differences = await index.compare(kind, compared, entities);
  return { entities, differences, unreadable: unreadable.length };
}

/** Compared with no forms, every indexed entity is a ghost. */
async function missingIn(
  index: SearchIndex,
  kind: EntityKind,
  ids: readonly string[],
): Promise<readonly string[]> {
  const indexed = new Set((await index.compare(kind, ids, [])).map(({ id }) => id));
  return ids.filter((id) => !indexed.has(id));
}

async function arrival({ hasArrived }: DriftDeps, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; attempt < ARRIVALS; attempt += 1) {
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
  // A form that the index has as another kind is a ghost of that kind too; repairing the form removes it.
  const forms = new Set(again.filter(({ problem }) => problem !== 'ghost').map(formOf));
  return again.filter((one) => one.problem !== 'ghost' || !forms.has(formOf(one)));
}

const formOf = ({ id, form }: IndexDifference): string => `${form} ${id}`;

/** Compares again and repairs in one step. @returns the forms that differed and were repaired */
async function repair(
  deps: DriftDeps,
  found: readonly IndexDifference[],
  signal: AbortSignal,
): Promise<IndexDifference[]> {
  const drifted = new Set(found.map(same));
  const repaired: IndexDifference[] = [];
  for (const { kind, ids } of pagesIn(found)) {
    signal.throwIfAborted();
    const compared = await compare(deps, kind, ids);
    const differences = compared.differences.filter((one) => drifted.has(same(one)));
    if (differences.length > 0) await deps.index.repair(differences, compared.entities);
    repaired.push(...differences);
  }
  return repaired;
}

/** Siblings are on the same page where possible: flags of one follow from the others. */
function* pagesIn(differences: readonly IndexDifference[]) {
  const byParent = [...Map.groupBy(differences, ({ parentId }) => parentId).values()].flat();
  for (const kind of ENTITY_KINDS) {
    const ids = [...new Set(byParent.filter((one) => one.kind === kind).map(({ id }) => id))];
    for (let start = 0; start < ids.length; start += PAGE)
      yield { kind, ids: ids.slice(start, start + PAGE) };
  }
}

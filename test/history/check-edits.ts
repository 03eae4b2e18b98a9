import type { Call, History } from './history.ts';
import type { Violation } from './violation.ts';

interface Edit {
  entity: string;
  invokedAt: number;
  /** Infinity without a successful answer. */
  acceptedAt: number;
  isRefused: boolean;
}

/** One read that showed a list, with the minimum it must contain. */
interface ListRead {
  entity: string;
  endedAt: number;
  values: readonly number[];
  /** It must show every edit that was accepted before this instant. */
  completeFrom: number;
  /** Minimum length, from earlier reads of all clients. */
  leastLength: number;
}

interface Form {
  completeFrom: number;
  leastLength: number;
}

/** The one order of the edits of an entity, as its longest list shows it. */
interface Order {
  values: readonly number[];
  position: Map<number, number>;
  /** For each position, when the last of the edits up to it began; Infinity from the first that should not be there. */
  begunBy: number[];
  /** Instants of acceptance, rising, and the furthest position among the edits accepted until then. */
  acceptedAt: number[];
  furthest: number[];
}

/**
 * Finds lost, repeated, reordered and unknown edits. Every list that is read must be a prefix of the one
 * order of its entity's edits. A draft contains every edit that was accepted before the read began; a published form every
 * one accepted before its publication began or before the draft was gone. No read shows less than an earlier
 * one.
 */
export function checkEdits(history: History): Violation[] {
  const { edits, reads } = collect(history);
  const orders = ordersOf(edits, reads);
  return [
    ...[...orders].flatMap(([entity, order]) => orderViolations(entity, order, edits)),
    ...reads.flatMap((read) => readViolations(read, orders.get(read.entity), edits)),
  ];
}

function collect(history: History): { edits: Map<number, Edit>; reads: ListRead[] } {
  const edits = new Map<number, Edit>();
  const reads: ListRead[] = [];
  const forms = { draft: new Map<string, Form>(), published: new Map<string, Form>() };
  const running = new Map<number, { call: Call; at: number; floor: Form }>();

  const formOf = (form: 'draft' | 'published', entity: string): Form => {
    let known = forms[form].get(entity);
    if (known === undefined) {
      known = { completeFrom: Number.NEGATIVE_INFINITY, leastLength: 0 };
      forms[form].set(entity, known);
    }
    return known;
  };

  for (const event of history) {
    if (event.type === 'invoke') {
      const { call, client, at } = event;
      const floor = call.do === 'read' ? { ...formOf(call.form, call.entity) } : NO_FLOOR;
      if (call.do === 'read' && call.form === 'draft') floor.completeFrom = at;
      running.set(client, { call, at, floor });
      if (call.do === 'append') {
        const { entity, value } = call;
        edits.set(value, { entity, invokedAt: at, acceptedAt: Number.POSITIVE_INFINITY, isRefused: false });
      }
      continue;
    }
    const begun = running.get(event.client);
    running.delete(event.client);
    if (begun === undefined) continue;
    const { call, at, floor } = begun;
    if (call.do === 'append') {
      const edit = edits.get(call.value);
      if (edit !== undefined && event.type === 'ok') edit.acceptedAt = event.at;
      if (edit !== undefined) edit.isRefused = event.type === 'fail';
    } else if (call.do === 'publish' && event.type === 'ok') {
      for (const entity of call.entities) completeSince(formOf('published', entity), at);
    } else if (call.do === 'read' && event.type === 'ok' && event.seen !== undefined) {
      if (event.seen === 'absent') {
        if (call.form === 'draft') completeSince(formOf('published', call.entity), at);
        continue;
      }
      const { values } = event.seen;
      reads.push({ entity: call.entity, endedAt: event.at, values, ...floor });
      // A draft begins as the published version.
      for (const form of call.form === 'published'
        ? (['published', 'draft'] as const)
        : (['draft'] as const)) {
        const known = formOf(form, call.entity);
        known.leastLength = Math.max(known.leastLength, values.length);
      }
    }
  }
  return { edits, reads };
}

const NO_FLOOR: Form = { completeFrom: Number.NEGATIVE_INFINITY, leastLength: 0 };

function completeSince(form: Form, at: number): void {
  form.completeFrom = Math.max(form.completeFrom, at);
}

function ordersOf(edits: ReadonlyMap<number, Edit>, reads: readonly ListRead[]): Map<string, Order> {
  const longest = new Map<string, readonly number[]>();
  for (const { entity, values } of reads) {
    if (values.length >= (longest.get(entity)?.length ?? 0)) longest.set(entity, values);
  }
  const accepted = Map.groupBy(
    [...edits].filter(([, { acceptedAt }]) => Number.isFinite(acceptedAt)),
    ([, { entity }]) => entity,
  );
  return new Map(
    [...longest].map(([entity, values]) => [
      entity,
      orderOf(values, begunBy(entity, values, edits), accepted.get(entity) ?? []),
    ]),
  );
}

function begunBy(entity: string, values: readonly number[], edits: ReadonlyMap<number, Edit>): number[] {
  const known = new Set<number>();
  let latest = Number.NEGATIVE_INFINITY;
  return values.map((value) => {
    const edit = edits.get(value);
    const isFit = edit?.entity === entity && !edit.isRefused && !known.has(value);
    known.add(value);
    latest = isFit ? Math.max(latest, edit.invokedAt) : Number.POSITIVE_INFINITY;
    return latest;
  });
}

function orderOf(values: readonly number[], begun: number[], accepted: [number, Edit][]): Order {
  const position = new Map(values.map((value, at) => [value, at]));
  const acceptedAt: number[] = [];
  const furthest: number[] = [];
  let last = -1;
  for (const [value, edit] of accepted.sort(([, one], [, other]) => one.acceptedAt - other.acceptedAt)) {
    last = Math.max(last, position.get(value) ?? Number.POSITIVE_INFINITY);
    acceptedAt.push(edit.acceptedAt);
    furthest.push(last);
  }
  return { values, position, begunBy: begun, acceptedAt, furthest };
}

/** An edit that began after another was accepted is behind it in the order. */
function orderViolations(entity: string, { values }: Order, edits: ReadonlyMap<number, Edit>): Violation[] {
  const found: Violation[] = [];
  let latest = { value: Number.NaN, invokedAt: Number.NEGATIVE_INFINITY };
  for (const value of values) {
    const edit = edits.get(value);
    if (edit === undefined) continue;
    if (edit.acceptedAt < latest.invokedAt) {
      const what = `${value} was accepted before ${latest.value} began, and is behind it`;
      found.push({ kind: 'reordered edits', entity, at: edit.acceptedAt, what });
    }
    if (edit.invokedAt > latest.invokedAt) latest = { value, invokedAt: edit.invokedAt };
  }
  return found;
}

function readViolations(
  read: ListRead,
  order: Order | undefined,
  edits: ReadonlyMap<number, Edit>,
): Violation[] {
  if (order === undefined) return [];
  return [
    ...(isBeginning(read, order) ? [] : contentViolations(read, order, edits)),
    ...floorViolations(read, order),
  ];
}

/** Whether a list is what most are, a beginning of the order with nothing wrong in it. */
function isBeginning({ values, endedAt }: ListRead, order: Order): boolean {
  return (
    (order.begunBy[values.length - 1] ?? Number.NEGATIVE_INFINITY) <= endedAt &&
    values.every((value, index) => value === order.values[index])
  );
}

function contentViolations(
  { entity, endedAt: at, values }: ListRead,
  order: Order,
  edits: ReadonlyMap<number, Edit>,
): Violation[] {
  const violations: Violation[] = [];
  if (new Set(values).size < values.length) {
    violations.push({ kind: 'duplicated edit', entity, at, what: `shows ${values.join(' ')}` });
  }
  for (const value of values) {
    const edit = edits.get(value);
    if (edit?.entity === entity && !edit.isRefused && edit.invokedAt <= at) continue;
    const what = `shows ${value}, which ${edit?.isRefused ? 'was refused' : 'no client had added'}`;
    violations.push({ kind: 'unknown edit', entity, at, what });
  }
  if (values.some((value, index) => value !== order.values[index])) {
    const positions = values.map((value) => order.position.get(value) ?? -1);
    const isInOrder = positions.every((position, index) => position > (positions[index - 1] ?? -1));
    const what = `shows ${values.join(' ')} of ${order.values.join(' ')}`;
    violations.push({ kind: isInOrder ? 'lost edit' : 'reordered edits', entity, at, what });
  }
  return violations;
}

function floorViolations(
  { entity, endedAt: at, values, leastLength, completeFrom }: ListRead,
  order: Order,
): Violation[] {
  const violations: Violation[] = [];
  if (values.length < leastLength) {
    const what = `shows ${values.length} edits after ${leastLength} were seen`;
    violations.push({ kind: 'non-monotonic read', entity, at, what });
  }
  const known = countBelow(order.acceptedAt, completeFrom);
  const needed = known === 0 ? -1 : (order.furthest[known - 1] ?? -1);
  if (needed >= values.length) {
    const what = `shows ${values.length} edits, but more were accepted before`;
    violations.push({ kind: 'lost edit', entity, at, what });
  }
  return violations;
}

/** How many of the rising numbers are below the bound. */
function countBelow(rising: readonly number[], bound: number): number {
  let [low, high] = [0, rising.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rising[middle] ?? bound) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

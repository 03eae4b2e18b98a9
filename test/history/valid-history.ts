import { oneOf, seededRandom } from '@kr/testbed';
import type { Call, Outcome, Recorded, Seen } from './history.ts';

const CLIENTS = 8;
const MEMBERS = 3;

interface World {
  drafts: Map<string, number[]>;
  published: Map<string, { publication: number; values: readonly number[] }>;
}

/**
 * A history of a correct system: each call takes effect at one moment between its beginning and its end. Some
 * are refused, the outcome of some is unknown, and of these some take effect.
 *
 * @param count of calls
 */
export function validHistory(seed: number, count: number, packages = 4): Recorded[] {
  const random = seededRandom(seed);
  const groups = Array.from({ length: packages }, (_, at) =>
    Array.from({ length: MEMBERS }, (_unused, member) => `p${at}-${member}`),
  );
  const world: World = {
    drafts: new Map(groups.flat().map((entity) => [entity, []])),
    published: new Map(),
  };
  const free = Array.from({ length: CLIENTS }, (_, client) => ({ client, at: client / CLIENTS }));
  const events: Recorded[] = [];
  let numbers = 0;

  // Effects in the order of time: what is planned takes effect before anything later begins.
  const planned: { effectAt: number; take: () => void }[] = [];
  const settle = (until: number): void => {
    planned.sort((one, other) => one.effectAt - other.effectAt);
    while (planned[0] !== undefined && planned[0].effectAt < until) planned.shift()?.take();
  };

  for (let made = 0; made < count; made += 1) {
    const next = free.reduce((one, other) => (one.at <= other.at ? one : other));
    const at = next.at + 0.01 + random();
    const effectAt = at + 0.01 + 2 * random();
    const end = effectAt + 0.01 + 2 * random();
    next.at = end;
    settle(at);
    numbers += 1;
    const call = someCall(random, groups, numbers);
    const fate = random();
    const invoked: Recorded = { type: 'invoke', client: next.client, at, call };
    const ended: Recorded = { client: next.client, at: end, ...endOf(fate) };
    events.push(invoked, ended);
    if (fate < 0.1) continue;
    planned.push({
      effectAt,
      take: () => {
        const outcome = takeEffect(world, call);
        if (ended.type !== 'info') Object.assign(ended, outcome);
      },
    });
  }
  settle(Number.POSITIVE_INFINITY);
  return events.sort((one, other) => one.at - other.at);
}

/** One in ten does not happen, the outcome of one in twenty of the others is unknown. */
function endOf(fate: number): Outcome {
  if (fate < 0.05) return { type: 'fail' };
  return fate < 0.15 ? { type: 'info' } : { type: 'ok' };
}

function someCall(random: () => number, groups: readonly string[][], number: number): Call {
  const group = oneOf(random, groups);
  const entity = oneOf(random, group);
  const kind = random();
  if (kind < 0.25) return { do: 'append', entity, value: number };
  if (kind < 0.3) return { do: 'publish', publication: number, entities: group };
  return { do: 'read', entity, form: kind < 0.5 ? 'draft' : 'published' };
}

function takeEffect({ drafts, published }: World, call: Call): Outcome {
  if (call.do === 'read') return { type: 'ok', seen: look({ drafts, published }, call) };
  if (call.do === 'append') {
    // An edit draft begins with the published version.
    const values = drafts.get(call.entity) ?? [...(published.get(call.entity)?.values ?? [])];
    drafts.set(call.entity, [...values, call.value]);
    return { type: 'ok' };
  }
  const isNewest = call.entities.every(
    (entity) => (published.get(entity)?.publication ?? 0) < call.publication,
  );
  if (!isNewest) return { type: 'fail' };
  for (const entity of call.entities) {
    const values = drafts.get(entity) ?? published.get(entity)?.values ?? [];
    published.set(entity, { publication: call.publication, values });
    drafts.delete(entity);
  }
  return { type: 'ok' };
}

function look({ drafts, published }: World, { entity, form }: Extract<Call, { do: 'read' }>): Seen {
  const draft = drafts.get(entity);
  if (form === 'draft') return draft === undefined ? 'absent' : { publication: 0, values: draft };
  return published.get(entity) ?? 'absent';
}

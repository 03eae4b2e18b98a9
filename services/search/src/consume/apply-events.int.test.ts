import { Writable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import fc from 'fast-check';
import type { EntityKind } from '../documents/entity.ts';
import { aPostgresIndex } from '../index/testing/a-postgres-index.ts';
import { aSearch, idsOf } from '../index/testing/a-search.ts';
import { anEntity, type EntityTraits } from '../index/testing/an-entity.ts';
import type { PatientIndex } from '../index/testing/tested-index.ts';
import { refreshEmbargoes } from '../operations/maintain-index.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import type { IndexedEvent } from './apply-events.ts';
import { applyEvents } from './apply-events.ts';

/** Records and packages in memory; `fetch` returns their present state. */
function aWorld() {
  const entities = new Map<string, EntityTraits>();
  const source: EntitySource = {
    fetch: async (kind, ids) =>
      [...entities.values()]
        .filter((traits) => (traits.kind ?? 'record') === kind && ids.includes(traits.id))
        .map(anEntity),
    list: async (kind, afterId) =>
      [
        ...new Set(
          [...entities.values()].filter((traits) => (traits.kind ?? 'record') === kind).map(({ id }) => id),
        ),
      ]
        .sort()
        .filter((id) => id > afterId)
        .slice(0, 2),
  };
  return {
    source,
    put: (traits: EntityTraits) => entities.set(`${traits.id} ${traits.form ?? 'published'}`, traits),
    remove: (id: string, form: string) => entities.delete(`${id} ${form}`),
  };
}

const logger = createLogger('test', new Writable({ write: (_chunk, _encoding, done) => done() }));

const EVERYTHING = { viewer: { seesAll: true }, scope: { forms: 'either' as const } };
const service = (kind: EntityKind) => (kind === 'record' ? 'records' : 'packages');

function anEvent(subject: IndexedEvent['subject'], payload: object): IndexedEvent {
  const defaults = { parentId: '', revision: '1', packageId: '', packageIds: [], recordIds: [] };
  const event = { id: 'event', subject, payload: { ...defaults, ...payload }, revision: 1, aggregateId: '' };
  return { ...event, time: new Date(0), traceHeaders: {} } as unknown as IndexedEvent;
}
const saved = (id: string, kind: EntityKind = 'record') =>
  anEvent(`knowledge.${service(kind)}.draft.saved`, { id });

describe('applyEvents', () => {
  let tested: Awaited<ReturnType<typeof aPostgresIndex>>;
  let index: PatientIndex;
  let world: ReturnType<typeof aWorld>;
  beforeAll(async () => {
    tested = await aPostgresIndex();
    index = tested.index;
  });
  beforeEach(async () => {
    await tested.clear();
    world = aWorld();
  });
  afterAll(() => tested.stop());
  const refreshed = () =>
    refreshEmbargoes(
      { index, source: world.source, logger, now: () => new Date('2026-06-01T00:00:00Z') },
      new AbortController().signal,
    );
  const found = async () => idsOf(await index.search(aSearch(EVERYTHING))).sort();
  const published = async () => idsOf(await index.search(aSearch())).sort();

  test('a draft is found after it was saved and no more after it was deleted', async () => {
    world.put({ id: 'a', form: 'draft' });
    await applyEvents(index, world.source, [saved('a')]);
    expect(await found()).toEqual(['a*']);
    world.remove('a', 'draft');
    const deleted = anEvent('knowledge.records.draft.deleted', {
      id: 'a',
      parentId: 'parent-of-a',
      revision: '2',
    });
    await applyEvents(index, world.source, [deleted, saved('a')]);
    expect(await found()).toEqual([]);
    await applyEvents(index, world.source, [saved('a')]);
    expect(await found()).toEqual([]);
  });

  test('a package and its resources appear together, by the event of the package alone', async () => {
    for (const id of ['r1', 'r2']) world.put({ id, form: 'draft' });
    world.put({ id: 'p', kind: 'package', form: 'draft' });
    await applyEvents(index, world.source, [saved('r1'), saved('r2'), saved('p', 'package')]);
    for (const id of ['r1', 'r2', 'p']) {
      world.remove(id, 'draft');
      world.put({ id, kind: id === 'p' ? 'package' : 'record', revision: 2 });
    }

    await applyEvents(index, world.source, [
      anEvent('knowledge.records.record.published', { id: 'r1', packageId: 'p' }),
      anEvent('knowledge.records.record.published', { id: 'r2', packageId: 'p' }),
      anEvent('knowledge.records.record.changed', { id: 'r1' }),
      anEvent('knowledge.files.entry.completed', { entityId: 'r2' }),
      saved('r2'),
    ]);
    expect(await published()).toEqual([]);

    const event = anEvent('knowledge.packages.package.published', { id: 'p', recordIds: ['r1', 'r2'] });
    await applyEvents(index, world.source, [event]);
    expect(await published()).toEqual(['p', 'r1', 'r2']);
    expect(await found()).toEqual(['p', 'r1', 'r2']);
  });

  test('a package whose resources were indexed in another state appears with them too', async () => {
    for (const id of ['r1', 'p']) world.put({ id, kind: id === 'p' ? 'package' : 'record', revision: 2 });
    // One whose draft had an embargo that has passed.
    world.put({ id: 'r2', form: 'draft', embargoUntil: '2026-01-01' });
    await index.write({ entities: await world.source.fetch('record', ['r2']) });
    world.remove('r2', 'draft');
    world.put({ id: 'r2', revision: 2 });
    await refreshed();
    await index.write({ staged: await world.source.fetch('record', ['r1']) });
    expect(await published()).toEqual([]);

    const event = anEvent('knowledge.packages.package.published', { id: 'p', recordIds: ['r1', 'r2'] });
    await applyEvents(index, world.source, [event]);
    expect(await published()).toEqual(['p', 'r1', 'r2']);
  });

  test('an embargo that has passed is found out however many others are refused', async () => {
    const restricted = (id: string): EntityTraits => ({
      id,
      access: 'restricted',
      embargoUntil: '2026-01-01',
    });
    const many = Array.from({ length: 210 }, (_, n) => `r${String(n).padStart(3, '0')}`);
    await index.write({ entities: [...many, 'z'].map((id) => anEntity(restricted(id))) });
    for (const id of [...many, 'z']) world.put({ id, revision: 2 });
    const { source } = world;
    const odd = new Set(many.slice(0, 3));
    world.source = {
      ...source,
      // The database has no such form.
      fetch: async (kind, ids) =>
        (await source.fetch(kind, ids)).map((one) =>
          odd.has(one.id) ? { ...one, form: 'odd' as 'draft' } : one,
        ),
    };
    await refreshed();
    await refreshed();
    const { rows } = await tested.pool.query<{ id: string }>(
      'SELECT id FROM index_document WHERE embargo_until IS NOT NULL ORDER BY id',
    );
    expect(rows.map(({ id }) => id)).toEqual([...odd]);
  });

  test('a publication whose resources cannot be fetched yet is tried again', async () => {
    world.put({ id: 'p', kind: 'package' });
    const event = anEvent('knowledge.packages.package.published', { id: 'p', recordIds: ['r1'] });
    await expect(applyEvents(index, world.source, [event])).rejects.toThrow('record r1 is not published');
    expect(await published()).toEqual([]);
  });

  test('a change of an indexed form is applied, one of an unindexed form is left to its publication', async () => {
    world.put({ id: 'a', title: 'before' });
    await applyEvents(index, world.source, [anEvent('knowledge.records.record.changed', { id: 'a' })]);
    expect(await published()).toEqual([]);
    await applyEvents(index, world.source, [anEvent('knowledge.records.record.published', { id: 'a' })]);
    world.put({ id: 'a', title: 'after' });
    await applyEvents(index, world.source, [anEvent('knowledge.records.record.changed', { id: 'a' })]);
    expect(idsOf(await index.search(aSearch({ q: 'after' })))).toEqual(['a']);
  });

  test('events of unknown entities are passed over', async () => {
    await applyEvents(index, world.source, [
      saved('nosuch'),
      anEvent('knowledge.files.entry.deleted', { entityId: 'nosuch' }),
      anEvent('knowledge.packages.resources.changed', { id: 'nosuch', recordIds: ['nosuch-either'] }),
    ]);
    expect(await found()).toEqual([]);
  });

  test('reordered, repeated and lumped events end in the same index', async () => {
    // The history of one record: each step changes the world and publishes an event.
    const steps: [event: IndexedEvent, change: () => void][] = [
      [saved('a'), () => world.put({ id: 'a', form: 'draft', revision: 1, title: 'one' })],
      [saved('a'), () => world.put({ id: 'a', form: 'draft', revision: 2, title: 'two' })],
      [
        anEvent('knowledge.records.draft.deleted', { id: 'b', parentId: 'parent-of-b', revision: '8' }),
        () => world.remove('b', 'draft'),
      ],
      [
        anEvent('knowledge.records.record.published', { id: 'a', parentId: 'parent-of-a' }),
        () => {
          world.remove('a', 'draft');
          world.put({ id: 'a', revision: 3, title: 'two' });
        },
      ],
      [saved('a'), () => world.put({ id: 'a', form: 'draft', revision: 4, title: 'three' })],
    ];
    const history = fc.array(fc.array(fc.nat({ max: steps.length - 1 }), { maxLength: 4 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(history, fc.nat({ max: steps.length }), async (batches, lead) => {
        await tested.pool.query('TRUNCATE index_document CASCADE');
        world = aWorld();
        world.put({ id: 'b', form: 'draft', revision: 7 });
        const stale = await world.source.fetch('record', ['b']);
        for (const [, change] of steps.slice(0, lead)) change();
        const happened = steps.slice(0, lead).map(([event]) => event);
        for (const batch of batches) {
          await applyEvents(
            index,
            world.source,
            batch.flatMap((index) => happened[index] ?? []),
          );
        }
        for (const [, change] of steps.slice(lead)) change();
        const rest = steps.map(([event]) => event).reverse();
        await applyEvents(index, world.source, rest.slice(0, 2));
        await applyEvents(index, world.source, [...rest, ...happened]);
        await index.write({ entities: stale });
        expect(await found()).toEqual(['a*']);
        expect(await published()).toEqual(['a']);
        expect(idsOf(await index.search(aSearch({ ...EVERYTHING, q: 'three' })))).toEqual(['a*']);
      }),
      { seed: 1, numRuns: 60 },
    );
  });
});

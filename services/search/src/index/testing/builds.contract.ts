import { beforeEach, describe, expect, test } from '@jest/globals';
import { isTransient } from '@kr/service-error';
import type { IndexDifference, Tombstone } from '../../engine/search-engine.ts';
import { aSearch, idsOf, type SearchTraits } from './a-search.ts';
import { anEntity, type EntityTraits } from './an-entity.ts';
import type { TestedIndex } from './tested-index.ts';

const DRAFTS: SearchTraits = { viewer: { seesAll: true }, scope: { forms: 'either' } };
const mark = (id: string, revision: number): Tombstone => ({
  id,
  form: 'draft',
  kind: 'record',
  parentId: `parent-of-${id}`,
  revision: String(revision),
});

/** The requirements of every engine while an index is built beside the live one. */
export function describeBuilds(tested: () => TestedIndex): void {
  const index = () => tested().index;
  const write = (...documents: EntityTraits[]) => index().write({ entities: documents.map(anEntity) });
  let begun: string;
  const begin = async () => {
    begun = await index().startBuild();
  };
  const build = (...documents: EntityTraits[]) => index().build(begun, documents.map(anEntity));
  const finish = () => index().finishBuild(begun);
  const find = async (traits: SearchTraits = {}) => idsOf(await index().search(aSearch(traits))).sort();

  describe('a build', () => {
    beforeEach(() => tested().clear());

    test('is not seen until it is finished, then alone', async () => {
      await write({ id: 'a' }, { id: 'b' });
      await begin();
      await build({ id: 'b' }, { id: 'c' });
      expect(await find()).toEqual(['a', 'b']);
      expect(await index().count()).toBe(2);
      await finish();
      expect(await find()).toEqual(['b', 'c']);
      expect(await index().count()).toBe(2);
      await write({ id: 'd' });
      expect(await find()).toEqual(['b', 'c', 'd']);
    });

    test('receives concurrent changes, and does not replace them by older states', async () => {
      await write({ id: 'a', revision: 1, title: 'first' }, { id: 'b', form: 'draft', revision: 1 });
      await begin();
      await write({ id: 'a', revision: 3, title: 'third' });
      await index().write({ tombstones: [mark('b', 2)] });
      await build({ id: 'a', revision: 2, title: 'second' }, { id: 'b', form: 'draft', revision: 1 });
      expect(await find({ q: 'third' })).toEqual(['a']);
      await finish();
      expect(await find(DRAFTS)).toEqual(['a']);
      expect(await find({ q: 'third' })).toEqual(['a']);
    });

    test('excludes entities that were deleted before it began', async () => {
      await write({ id: 'a', form: 'draft', revision: 1 });
      await index().write({ tombstones: [mark('a', 2)] });
      await begin();
      await write({ id: 'a', form: 'draft', revision: 1 });
      await finish();
      await write({ id: 'a', form: 'draft', revision: 1 });
      expect(await find(DRAFTS)).toEqual([]);
    });

    test('leaves staged forms hidden, and all others are visible with their versions in order', async () => {
      const v1 = { id: 'v1', parentId: 'p', versionIndex: 1 };
      const v2 = { id: 'v2', parentId: 'p', versionIndex: 2 };
      await write(v1);
      await index().write({ staged: [anEntity(v2)] });
      await begin();
      await build(v1, v2, { id: 'c' });
      await finish();
      expect(await find({ scope: { latestOnly: true } })).toEqual(['c', 'v1']);
      await write(v2);
      expect(await find({ scope: { latestOnly: true } })).toEqual(['c', 'v2']);
    });

    test('knows the latest of versions that arrive page by page, in any order', async () => {
      const version = (index: number) => ({ id: `v${index}`, parentId: 'p', versionIndex: index });
      await begin();
      for (const index of [2, 1, 4, 3]) await build(version(index), { id: `c${index}` });
      await finish();
      const latest = await find({ scope: { latestOnly: true } });
      expect(latest).toEqual(['c1', 'c2', 'c3', 'c4', 'v4']);
    });

    test('reveals a form that an event wrote in the same state, without writing it again', async () => {
      const before = { id: 'a', title: 'with its files before' };
      const after = { id: 'a', title: 'with its files after' };
      await write(before);
      await begin();
      await index().write({ staged: [anEntity(after)] });
      await build(before);
      await finish();
      expect(await find({ q: 'after' })).toEqual(['a']);
    });

    test('replaces an abandoned one, which accepts no more writes', async () => {
      await write({ id: 'live' });
      const left = await index().startBuild();
      await index().build(left, [anEntity({ id: 'a' })]);
      await begin();
      await expect(index().build(left, [anEntity({ id: 'a' })])).rejects.toThrow(left);
      await expect(index().finishBuild(left)).rejects.toThrow(left);
      expect(await find()).toEqual(['live']);
      await build({ id: 'b' });
      await finish();
      expect(await find()).toEqual(['b']);
      await expect(index().finishBuild(left)).rejects.toThrow(left);
    });

    test('that was deleted is discarded by the next change, which is written to the live index', async () => {
      await begin();
      await build({ id: 'a' });
      await tested().deleteGeneration(begun);
      await write({ id: 'b' });
      expect(await find()).toEqual(['b']);
      await expect(build({ id: 'a' })).rejects.toThrow(begun);
      await begin();
      await build({ id: 'c' });
      await finish();
      expect(await find()).toEqual(['c']);
    });

    test.each<[name: string, next: () => Promise<void>]>([
      ['page', () => build({ id: 'b' })],
      ['switch', finish],
    ])('that was deleted is a permanent failure of the next %s', async (_name, next) => {
      await write({ id: 'live' });
      await begin();
      await build({ id: 'a' });
      await tested().deleteGeneration(begun);
      const failure = await next().catch((error: unknown) => error);
      expect([isTransient(failure), String(failure)]).toEqual([false, expect.stringContaining(begun)]);
      expect(await find()).toEqual(['live']);
    });

    test('is recognised once it is live, and rejects further pages', async () => {
      await begin();
      await build({ id: 'a' });
      expect(await index().isLive(begun)).toBe(false);
      await finish();
      expect(await index().isLive(begun)).toBe(true);
      // A caller that has not received the answer repeats the call.
      await finish();
      await expect(build({ id: 'b' })).rejects.toThrow(begun);
      expect(await find()).toEqual(['a']);
      const next = await index().startBuild();
      expect(await index().isLive(begun)).toBe(true);
      await index().finishBuild(next);
      expect(await index().isLive(begun)).toBe(false);
    });

    test('replaces the live index during searches and writes, without errors', async () => {
      await write({ id: 'always' });
      const found: string[][] = [];
      for (let round = 0; round < 3; round += 1) {
        let isOver = false;
        const searching = (async () => {
          while (!isOver) found.push(await find({ q: 'id:always' }));
        })();
        await begin();
        await build({ id: 'always' });
        const writing = Promise.all(Array.from({ length: 10 }, (_, n) => write({ id: `new-${round}-${n}` })));
        for (let isFinished = false; !isFinished; ) {
          isFinished = await finish()
            .then(() => true)
            .catch((error: unknown) => {
              if (isTransient(error)) return false;
              throw error;
            });
        }
        await writing;
        isOver = true;
        await searching;
        expect(await index().count()).toBe(11);
      }
      expect(found.filter(([id]) => id !== 'always')).toEqual([]);
    });
  });

  describe('comparing', () => {
    beforeEach(() => tested().clear());

    const differ = (kind: 'record' | 'package', ids: string[], ...documents: EntityTraits[]) =>
      index().compare(kind, ids, documents.map(anEntity));
    const short = (differences: IndexDifference[]) =>
      differences.map(({ id, form, problem, revision }) => [id, form, problem, revision]).sort();

    test('lists the ids of one kind, page by page', async () => {
      await write(
        { id: 'a' },
        { id: 'b', form: 'draft' },
        { id: 'c' },
        { id: 'c', form: 'draft' },
        { id: 'p', kind: 'package' },
      );
      await index().write({ tombstones: [mark('d', 1)] });
      const first = await index().listIds('record', '', 2);
      const next = await index().listIds('record', first.at(-1) ?? '', 2);
      expect([...first, ...next].sort()).toEqual(['a', 'b', 'c']);
      expect(await index().listIds('record', next.at(-1) ?? '', 2)).toEqual([]);
      expect(await index().listIds('package', '', 2)).toEqual(['p']);
    });

    const SQUARE = { type: 'Point', coordinates: [10, 50] };
    const same: EntityTraits = {
      id: 'same',
      title: 'Zebra crossing',
      geometry: SQUARE,
      metadata: { publication_date: '2020', subjects: [{ subject: 'Zebras' }] },
    };

    test('finds nothing where all is as it should be', async () => {
      await write(same, { ...same, form: 'draft', revision: 2 }, { id: 'p', kind: 'package' });
      expect(
        await differ('record', ['same', 'nosuch'], same, { ...same, form: 'draft', revision: 2 }),
      ).toEqual([]);
      expect(await differ('package', ['p'], { id: 'p', kind: 'package' })).toEqual([]);
    });

    test.each<[string, Partial<EntityTraits>]>([
      ['an older state', { revision: 2 }],
      ['another text of the same state', { title: 'Zebra' }],
      ['another owner', { ownerId: 'somebody' }],
      ['another access', { access: 'restricted' }],
      ['another place', { geometry: { type: 'Point', coordinates: [10, 51] } }],
      ['another instant', { updatedAt: 1_700_000_001 }],
      ['another parent', { parentId: 'other' }],
    ])('finds %s', async (_name, change) => {
      await write(same);
      expect(short(await differ('record', ['same'], { ...same, ...change }))).toEqual([
        ['same', 'published', 'stale', '1'],
      ]);
    });

    test('finds missing, hidden and superfluous forms', async () => {
      await write({ id: 'ghost' }, { id: 'half' }, { id: 'half', form: 'draft', revision: 4 });
      await index().write({ staged: [anEntity({ id: 'held' })], tombstones: [mark('gone', 7)] });
      const there = [{ id: 'half' }, { id: 'held' }, { id: 'new' }, { id: 'gone', form: 'draft' as const }];
      const ids = ['ghost', 'half', 'held', 'new', 'gone', 'nowhere'];
      expect(short(await differ('record', ids, ...there))).toEqual([
        ['ghost', 'published', 'ghost', '1'],
        ['gone', 'draft', 'missing', '7'],
        ['half', 'draft', 'ghost', '4'],
        // It is taken for one that has a draft.
        ['half', 'published', 'stale', '1'],
        ['held', 'published', 'missing', '1'],
        ['new', 'published', 'missing', null],
      ]);
      const others = await differ('package', ids);
      expect(others).toEqual([]);
    });

    test('repairs differing forms with any change number, and no others', async () => {
      await write(
        { id: 'stale', revision: 9, title: 'wrong', parentId: 'wrong' },
        { id: 'ghost', revision: 9 },
        { id: 'right', revision: 1, title: 'right' },
      );
      await index().write({ staged: [anEntity({ id: 'held' })], tombstones: [mark('gone', 7)] });
      const there: EntityTraits[] = [
        { id: 'stale', revision: 3, title: 'mended' },
        { id: 'right', revision: 1, title: 'right' },
        { id: 'held' },
        { id: 'gone', form: 'draft', revision: 2 },
      ];
      const ids = [...there.map(({ id }) => id), 'ghost'];
      const differences = await differ('record', ids, ...there);
      await index().repair(differences, there.map(anEntity));
      expect(await differ('record', ids, ...there)).toEqual([]);
      expect(await find(DRAFTS)).toEqual(['gone*', 'held', 'right', 'stale']);
      expect(await find({ q: 'mended', scope: { latestOnly: true } })).toEqual(['stale']);
      await write({ id: 'ghost', revision: 8 });
      expect(await find({ q: 'id:ghost' })).toEqual([]);
    });

    test('does not repair forms that have changed since the comparison', async () => {
      await write({ id: 'a', revision: 1, title: 'one' }, { id: 'b', revision: 1 });
      const differences = await differ('record', ['a', 'b'], { id: 'a', revision: 2, title: 'two' });
      await write({ id: 'a', revision: 3, title: 'three' }, { id: 'b', revision: 2 });
      await index().repair(differences, [anEntity({ id: 'a', revision: 2, title: 'two' })]);
      expect(await find({ q: 'three' })).toEqual(['a']);
      expect(await find()).toEqual(['a', 'b']);
    });

    test('repairs a form under a wrong parent, and its former siblings', async () => {
      const beside: EntityTraits = { id: 'beside', parentId: 'p', versionIndex: 1 };
      const moved: EntityTraits = { id: 'moved', parentId: 'own', versionIndex: 1 };
      await write(beside, { ...moved, parentId: 'p', versionIndex: 2 });
      expect(await find({ scope: { latestOnly: true } })).toEqual(['moved']);
      await index().repair(await differ('record', ['moved'], moved), [anEntity(moved)]);
      expect(await find({ scope: { latestOnly: true } })).toEqual(['beside', 'moved']);
    });

    test('mends the build too', async () => {
      await write({ id: 'ghost', revision: 9 }, { id: 'stale', revision: 9, title: 'wrong' });
      await begin();
      await build({ id: 'ghost', revision: 9 }, { id: 'stale', revision: 9, title: 'wrong' });
      const there = { id: 'stale', revision: 3, title: 'mended' };
      await index().repair(await differ('record', ['ghost', 'stale'], there), [anEntity(there)]);
      await finish();
      expect(await differ('record', ['ghost', 'stale'], there)).toEqual([]);
    });
  });
}

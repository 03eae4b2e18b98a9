import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { EngineHit, Scope, Sort, Tombstone } from '../../engine/search-engine.ts';
import { queryCondition } from '../../query/query-conditions.ts';
import { MAX_SLOP } from '../../query/query-tree.ts';
import { aSearch, aSuggest, idsOf, type SearchTraits, type SuggestTraits } from './a-search.ts';
import { anEntity, type EntityTraits } from './an-entity.ts';
import { describeBuilds } from './builds.contract.ts';
import type { TestedIndex } from './tested-index.ts';

/** The requirements of every index; its test file calls this with a function that creates an empty one. */
export function describeSearchIndex(name: string, makeEngine: () => Promise<TestedIndex>): void {
  describe(`${name} search engine`, () => {
    let tested: TestedIndex;
    beforeAll(async () => {
      tested = await makeEngine();
    });
    afterAll(() => tested.stop());

    const fill = async (...documents: EntityTraits[]) => {
      await tested.clear();
      await tested.index.write({ entities: documents.map(anEntity) });
    };
    const write = (...documents: EntityTraits[]) => tested.index.write({ entities: documents.map(anEntity) });
    const bury = (...tombstones: Tombstone[]) => tested.index.write({ tombstones });
    const find = async (traits: SearchTraits) => idsOf(await tested.index.search(aSearch(traits)));
    const suggested = async (traits: SuggestTraits) =>
      (await tested.index.suggest(aSuggest(traits))).map(({ value, count }) => `${count} ${value}`);

    describe('queries', () => {
      beforeAll(() =>
        fill(
          {
            id: 'zebra-00001',
            createdAt: 1,
            title: 'Zebra migration in the Römäns’ Land',
            versionIndex: 1,
            metadata: {
              description: '<p>A <b>map</b> of floods &amp; fires.</p>',
              publication_date: '2019',
              publisher: 'GEO',
              creators: [
                { person_or_org: { type: 'personal', name: 'Carberry, Josiah', family_name: 'Carberry' } },
                { person_or_org: { type: 'organizational', name: 'Brown University' } },
              ],
              subjects: [{ subject: 'Earth science' }, { subject: 'wild life' }],
              identifiers: [{ identifier: '10.1234/abc-Def', scheme: 'doi' }],
              dates: [{ date: '2015-03-01', type: { id: 'collected' } }],
              languages: [{ id: 'eng', title: { en: 'English' } }],
              rights: [{ id: 'cc-by-4.0', description: { en: 'permits to distribute' }, icon: 'cc-by-icon' }],
            },
            document: { pids: { doi: { identifier: '10.5072/zebra-00001', provider: 'datacite' } } },
          },
          {
            id: 'flood-00002',
            createdAt: 2,
            updatedAt: 1_000_000,
            title: 'Flood risk',
            versionIndex: 2,
            resourceType: 'dataset',
            metadata: {
              publication_date: '2020-05/2021-06',
              description: 'risk of a flood',
              version: 'v1.2',
            },
          },
          {
            id: 'house-00003',
            createdAt: 3,
            kind: 'package',
            title: 'A house of risk and flood',
            metadata: { version: '10' },
          },
        ),
      );

      const ALL = ['zebra-00001', 'flood-00002', 'house-00003'];
      const [ZEBRA = '', FLOOD = '', HOUSE = ''] = ALL;
      test.each<[q: string, found: string[]]>([
        ['*', ALL],
        ['zebra', [ZEBRA]],
        ['ZEBRA', [ZEBRA]],
        ['romans', [ZEBRA]],
        ['Römäns', [ZEBRA]],
        ["Romans'", [ZEBRA]],
        ['map', [ZEBRA]],
        ['fires', [ZEBRA]],
        ['amp', []],
        ['qwertyuiop', []],
        ['zebra flood', [ZEBRA, FLOOD, HOUSE]],
        ['zebra AND flood', []],
        ['flood AND risk', [FLOOD, HOUSE]],
        ['"flood risk"', [FLOOD]],
        ['"risk flood"', []],
        ['"risk flood"~1', [HOUSE]],
        ['"flood risk"~3', [FLOOD, HOUSE]],
        ['+risk -house', [FLOOD]],
        ['NOT risk', [ZEBRA]],
        ['NOT (risk OR zebra)', []],
        ['-NOSUCH', ALL],
        ['risk AND NOT metadata.title:house', [FLOOD]],
        ['(zebra OR house) AND (map OR risk)', [ZEBRA, HOUSE]],
        ['zebra & | nosuch', [ZEBRA]],
        ['zebra "..."', [ZEBRA]],
        ['"..."', []],
        ['zeb*', [ZEBRA]],
        ['meta*', []],
        ['flo*d', [FLOOD, HOUSE]],
        ['flo?d', [FLOOD, HOUSE]],
        ['flo?', []],
        ['metadata.title:flo?d', [FLOOD, HOUSE]],
        ['metadata.title:zebra', [ZEBRA]],
        ['metadata.title:map', []],
        ['metadata.title:"flood risk"', [FLOOD]],
        ['metadata.title:(zebra house)', [ZEBRA, HOUSE]],
        ['metadata.title:mig*', [ZEBRA]],
        ['flod~', [FLOOD, HOUSE]],
        ['flood~', ALL],
        ['flood~0', [FLOOD, HOUSE]],
        ['FLÖDS~', [ZEBRA]],
        ['flods~2', ALL],
        ['zebar~1', []],
        ['zebar~2', [ZEBRA]],
        ['migratoin~', [ZEBRA]],
        ['blood~2', []],
        ['ris~', [FLOOD, HOUSE]],
        ['ri~2', []],
        ['of~2', [ZEBRA, FLOOD, HOUSE]],
        ['metadata.title:flods~2', [FLOOD, HOUSE]],
        ['metadata.title:(flods~2 AND NOT risc~)', []],
        ['metadata.rights.description.en:distributes~', [ZEBRA]],
        ['NOT flods~', [FLOOD, HOUSE]],
        ['zebra .~', [ZEBRA]],
        ['.~', []],
        ['metadata.title.keyword:"Flood risk"', [FLOOD]],
        ['metadata.title.keyword:"flood risk"', []],
        ['metadata.title:zebra AND metadata.resource_type.id:image-photo', [ZEBRA]],
        ['metadata.resource_type.id:dataset', [FLOOD]],
        ['metadata.resource_type.id:image-*', [ZEBRA]],
        ['metadata.creators.person_or_org.name:carberry', [ZEBRA]],
        ['"josiah brown"', []],
        ['"Carberry, Josiah"', [ZEBRA]],
        ['metadata.subjects.subject:earth', [ZEBRA]],
        ['metadata.subjects.subject.keyword:"Earth science"', [ZEBRA]],
        ['"science wild"', []],
        ['metadata.publisher:geo', [ZEBRA]],
        ['metadata.version:v1.2', [FLOOD]],
        ['metadata.languages.id:eng', [ZEBRA]],
        ['english', [ZEBRA]],
        ['distribute', []],
        ['metadata.rights.description.en:distribute', [ZEBRA]],
        ['metadata.rights.id:cc-by-4.0', [ZEBRA]],
        ['id:zebra-00001', [ZEBRA]],
        ['zebra-00001', [ZEBRA]],
        ['id:(zebra-00001 OR house-00003)', [ZEBRA, HOUSE]],
        ['parent.id:"parent-of-house-00003"', [HOUSE]],
        ['parent.type:package', [HOUSE]],
        ['10.1234/abc-def', [ZEBRA]],
        ['pids.doi.identifier:"10.5072/zebra-00001"', [ZEBRA]],
        ['10.5072/zebra-00001', [ZEBRA]],
        ['is_published:true', ALL],
        ['access.status:metadata-only', ALL],
        ['access.record:public', ALL],
        ['public', []],
        ['nosuchfield:1', []],
        ['nosuchfield:zebra OR zebra', [ZEBRA]],
        ['_exists_:metadata.publisher', [ZEBRA]],
        ['_exists_:metadata.creators', [ZEBRA]],
        ['metadata.version:*', [FLOOD, HOUSE]],
        ['NOT _exists_:metadata.version', [ZEBRA]],
        ['_exists_:nosuch', []],
        ['versions.index:2', [FLOOD]],
        ['versions.index:[2 TO 3]', [FLOOD]],
        ['versions.index:>=1', ALL],
        ['versions.index:{1 TO *]', [FLOOD]],
        ['metadata.publication_date:2019', [ZEBRA]],
        ['metadata.dates.date:[2015 TO 2016]', [ZEBRA]],
        ['metadata.dates.date:[2019 TO 2020]', []],
        ['title:zebra AND creators:carberry AND keywords:earth', [ZEBRA]],
        ['doi:"10.5072/zebra-00001"', [ZEBRA]],
        ['resource_type:dataset publisher:geo', [ZEBRA, FLOOD]],
        ['_exists_:creators', [ZEBRA]],
        ['metadata.publication_date:[2019 TO 2020]', [ZEBRA, FLOOD]],
        ['metadata.publication_date:[2019-06 TO 2019-07]', [ZEBRA]],
        ['metadata.publication_date:>2020', [FLOOD]],
        ['metadata.publication_date:>2021', []],
        ['metadata.publication_date:<2020', [ZEBRA]],
        ['metadata.publication_date_range:2021-01-01', [FLOOD]],
        ['NOT metadata.publication_date:[0000 TO 9999]', [HOUSE]],
        ['created:1970', ALL],
        ['created:[1970-01-01T00:00:02 TO *]', [FLOOD, HOUSE]],
        ['created:{1970-01-01T00:00:01Z TO 1970-01-01T00:00:03Z}', [FLOOD]],
        ['updated:>=1970-01-10', [FLOOD]],
        ['updated:[* TO 9999]', ALL],
        ['metadata.version:[1 TO 2]', [HOUSE]],
        ['metadata.title:{mas TO zf}', [ZEBRA, FLOOD, HOUSE]],
        ['metadata.title:[zebra TO zebra]', [ZEBRA]],
        ["id:zebra'00001", []],
        ['id:"back\\\\slash"', []],
        [`id:${'x'.repeat(900)}`, []],
        [`${'ü'.repeat(900)}:a`, []],
        [`${'a.'.repeat(500)}`, []],
        ['+zebra flo*d', [ZEBRA]],
        ['+zebra created:1970 versions.index:>0', [ZEBRA]],
        ['+"." NOT created:[1970 TO 1971]', []],
        ['id:a\u0000b', []],
        ['zebra\ud800', [ZEBRA]],
      ])('%j finds %j', async (q, found) => {
        expect(await find({ q })).toEqual(found);
      });

      test.each([
        'created:yesterday',
        'created:2020-02-30',
        'versions.index:one',
        'metadata.publication_date:[a TO b]',
        'id:zebra-00001~',
        'metadata.version:v12~',
        'GEO-BON~',
        '"three words apart"~1',
      ])('%j is refused for its value', async (q) => {
        await expect(find({ q })).rejects.toMatchObject({
          kind: 'invalid',
          message: 'Invalid query string syntax.',
        });
      });

      test.each(['science wild', 'university josiah'])('%j is no phrase of two values', async (text) => {
        const query = queryCondition({
          type: 'phrase',
          field: null,
          text,
          slop: MAX_SLOP,
          boost: 1,
          position: 0,
        });
        expect(idsOf(await tested.index.search({ ...aSearch(), query }))).toEqual([]);
      });

      test('a word in the title weighs more than one in the description', async () => {
        await write({
          id: 'about-00004',
          createdAt: 4,
          title: 'Something',
          metadata: { description: 'zebra zebra' },
        });
        expect(await find({ q: 'zebra', sort: 'bestmatch' })).toEqual(['zebra-00001', 'about-00004']);
        expect(await find({ q: 'zebra description^9', sort: 'newest' })).toEqual([
          'about-00004',
          'zebra-00001',
        ]);
      });

      test('a boost changes the order and nothing else', async () => {
        await fill({ id: 'one', createdAt: 1, title: 'apple' }, { id: 'two', createdAt: 2, title: 'pear' });
        expect(await find({ q: 'apple^5 pear', sort: 'bestmatch' })).toEqual(['one', 'two']);
        expect(await find({ q: 'apple pear^5', sort: 'bestmatch' })).toEqual(['two', 'one']);
      });
    });

    describe('listings', () => {
      const PARENT = { parentId: 'parent', ownerId: 'ann' };
      beforeAll(() =>
        fill(
          { id: 'v1', ...PARENT, createdAt: 1, updatedAt: 50, versionIndex: 1 },
          { id: 'v2', ...PARENT, createdAt: 2, updatedAt: 40, versionIndex: 2 },
          { id: 'v2', ...PARENT, form: 'draft', createdAt: 3, updatedAt: 60, versionIndex: 2 },
          { id: 'v3', ...PARENT, form: 'draft', createdAt: 4, updatedAt: 30, versionIndex: 3 },
          { id: 'pkg', kind: 'package', ownerId: 'ann', createdAt: 5, updatedAt: 20 },
          { id: 'new', form: 'draft', ownerId: 'ben', createdAt: 6, updatedAt: 10 },
          {
            id: 'held',
            form: 'draft',
            ownerId: 'cleo',
            managedBy: 'its package',
            createdAt: 7,
            updatedAt: 70,
          },
        ),
      );

      test.each<[says: string, traits: SearchTraits, found: string[]]>([
        ['all versions', {}, ['v1', 'v2', 'pkg']],
        ['the newest published versions', { scope: { latestOnly: true } }, ['v2', 'pkg']],
        ['one kind', { scope: { kinds: ['package'] } }, ['pkg']],
        ['given ids', { scope: { onlyIds: ['pkg', 'v1', 'nosuch'] } }, ['v1', 'pkg']],
        ['no ids', { scope: { onlyIds: [] } }, []],
        ['newest first', { sort: 'newest' }, ['pkg', 'v2', 'v1']],
        ['by version', { sort: 'version' }, ['v2', 'pkg', 'v1']],
        ['last updated first', { sort: 'updated-desc' }, ['v1', 'v2', 'pkg']],
        ['last updated last', { sort: 'updated-asc' }, ['pkg', 'v2', 'v1']],
        ['the second page', { offset: 2, limit: 2 }, ['pkg']],
        ['a page beyond the end', { offset: 10, limit: 2 }, []],
        [
          "ann's own, newest versions",
          { viewer: { userId: 'ann' }, scope: { forms: 'own', latestOnly: true } },
          ['v3*', 'pkg'],
        ],
        [
          "ann's own, all versions",
          { viewer: { userId: 'ann' }, scope: { forms: 'own' } },
          ['v1', 'v2*', 'v3*', 'pkg'],
        ],
        ["ben's own", { viewer: { userId: 'ben' }, scope: { forms: 'own' } }, ['new*']],
        [
          "an administrator's own",
          { viewer: { userId: 'root', seesAll: true }, scope: { forms: 'own' } },
          [],
        ],
        [
          'what a preview link of its package adds',
          {
            viewer: { userId: 'ben', previewParentIds: ['its package'] },
            scope: { forms: 'own', latestOnly: true },
          },
          ['new*', 'held*'],
        ],
        [
          'what a view link of its package adds',
          { viewer: { viewParentIds: ['its package'] }, scope: { forms: 'either', onlyIds: ['held'] } },
          [],
        ],
        [
          'what a preview link adds',
          {
            viewer: { userId: 'ben', previewParentIds: ['parent'] },
            scope: { forms: 'own', latestOnly: true },
          },
          ['v3*', 'new*'],
        ],
        ['either form, to a stranger', { scope: { forms: 'either' } }, ['v1', 'v2', 'pkg']],
        [
          'either form, to a viewer with a preview link of another entity',
          { viewer: { previewParentIds: ['its package'] }, scope: { forms: 'either' } },
          ['v1', 'v2', 'pkg', 'held*'],
        ],
        [
          'either form, to ann',
          { viewer: { userId: 'ann' }, scope: { forms: 'either' } },
          ['v1', 'v2*', 'v3*', 'pkg'],
        ],
        [
          'either form, to an administrator',
          { viewer: { seesAll: true }, scope: { forms: 'either' } },
          ['v1', 'v2*', 'v3*', 'pkg', 'new*', 'held*'],
        ],
      ])('%s', async (_, traits, found) => {
        expect(await find(traits)).toEqual(found);
      });

      test('the total counts all pages', async () => {
        const { total } = await tested.index.search(aSearch({ offset: 2, limit: 1 }));
        expect(total).toBe(3);
      });
    });

    describe('pages', () => {
      test.each<[sort: Sort]>([['newest'], ['oldest'], ['version'], ['updated-desc'], ['updated-asc']])(
        'by %s pass each hit once, during concurrent changes',
        async (sort) => {
          const many = Array.from({ length: 9 }, (_, index) => ({
            id: `d${index}`,
            createdAt: index % 3,
            updatedAt: index % 4,
            versionIndex: 1 + (index % 2),
          }));
          await fill(...many, { id: 'd4', form: 'draft', createdAt: 1, versionIndex: 1 });
          const traits: SearchTraits = { viewer: { userId: 'owner' }, scope: { forms: 'published' }, sort };
          const whole = await find(traits);
          const seen: EngineHit[] = [];
          let written = 0;
          while (true) {
            const { hits, total } = await tested.index.search(
              aSearch({ ...traits, limit: 2, after: seen.at(-1) ?? null }),
            );
            expect(total).toBe(many.length + written);
            if (hits.length === 0) break;
            seen.push(...hits);
            written += 1;
            await write({ id: `a${written}`, createdAt: 0, updatedAt: 99, versionIndex: 9 });
          }
          expect(seen.map(({ id }) => id).filter((id) => id.startsWith('d'))).toEqual(whole);
          expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
        },
      );
    });

    describe('access', () => {
      const CORPUS: EntityTraits[] = [
        { id: 'open-1', createdAt: 1, title: 'soil water', metadata: { subjects: [{ subject: 'soil' }] } },
        { id: 'open-2', createdAt: 2, title: 'soil', resourceType: 'dataset' },
        {
          id: 'open-3',
          createdAt: 3,
          kind: 'package',
          title: 'soil package and a long tail of many further words',
        },
      ];
      const TWINS: EntityTraits[] = CORPUS.map((traits) => ({
        ...traits,
        id: `secret-${traits.id}`,
        ...(traits.id === 'open-1' ? { managedBy: 'parent-of-secret-open-3' } : {}),
        access: 'restricted',
        ownerId: 'ann',
        geometry: { type: 'Point', coordinates: [10, 50] },
        title: `${traits.title} secret`,
        metadata: { subjects: [{ subject: 'secret' }, { subject: 'soil' }] },
      }));
      const DRAFTS = CORPUS.map(
        (traits): EntityTraits => ({ ...traits, id: `draft-${traits.id}`, form: 'draft', ownerId: 'ann' }),
      );
      const FACETS = [
        'category',
        'record_type',
        'resource_type',
        'base_type',
        'subject',
        'access_status',
        'is_published',
      ];
      const QUERIES: SearchTraits[] = [
        {},
        { q: 'soil' },
        { q: 'soil OR *', sort: 'bestmatch' },
        { q: 'NOT soil' },
        { q: '-nosuch OR access.record:restricted' },
        { q: 'metadata.subjects.subject:secret' },
        { q: 'secrets~ OR soli~2' },
        { q: '"nosuch words" OR (* title:secrets~)', sort: 'bestmatch' },
        { q: 'water^2 soil "soil package"^0.1 seccret~^9', sort: 'bestmatch' },
        {
          limit: 1,
          after: {
            id: 'open-1',
            form: 'published',
            createdAt: '1970-01-01T00:00:01.000000Z',
            updatedAt: '1970-01-01T00:00:01.000000Z',
            versionIndex: 1,
          },
        },
        { bbox: '0,60,20,40' },
        { selected: { subject: ['secret', 'soil'] } },
        { scope: { onlyIds: ['open-1', 'secret-open-1', 'draft-open-1'] } },
        { scope: { forms: 'either' } },
        { sort: 'version', limit: 1, offset: 1 },
      ];

      test('a word with ~ matches all similar ones, so hidden ones cannot displace others', async () => {
        const letters = [...'abcdefghijklmnopqrstuvwxyz'];
        const words = letters.flatMap((one) => letters.map((other) => `flood${one}${other}`));
        await fill(
          { id: 'many', title: words.slice(0, -1).join(' ') },
          { id: 'last', title: words.at(-1) ?? '' },
          { id: 'hidden', form: 'draft', title: 'floode floods floodx' },
        );
        expect((await find({ q: 'title:flood~2' })).sort()).toEqual(['last', 'many']);
        expect(await find({ q: 'flood~2 AND NOT title:floodaa' })).toEqual(['last']);
        expect((await find({ q: 'flood~2', sort: 'bestmatch' })).sort()).toEqual(['last', 'many']);
      });

      test('the answer to a stranger does not depend on restricted documents', async () => {
        const suggestions = () =>
          Promise.all(
            ['s', 'soil', 'secret', 'soil water'].flatMap((q) =>
              (['title', 'subject', 'creator'] as const).map((type) => suggested({ q, type })),
            ),
          );
        const answers = () =>
          Promise.all([
            suggestions(),
            ...QUERIES.map(async (traits) => {
              // Missing entities are reported to the service alone, which fetches them for any caller.
              const { missing: _, ...answer } = await tested.index.search(
                aSearch({ ...traits, facets: FACETS }),
              );
              return answer;
            }),
          ]);
        await fill(...CORPUS);
        const without = await answers();
        await write(...TWINS, ...DRAFTS);
        expect(await answers()).toEqual(without);
      });

      test('the order of hits does not depend on hidden entities', async () => {
        await fill(
          { id: 'a', title: 'zebra word', metadata: { publisher: 'one', version: 'v1' } },
          { id: 'b', title: 'quagga word', metadata: { publisher: 'two', version: 'v2' } },
        );
        const orders = async () => {
          const found: string[][] = [];
          for (const q of [
            'zebra OR quagga',
            'title:zebra OR title:quagga',
            'version:v1 OR version:v2',
            'zebrb~ OR quaggb~',
            'zeb* OR quag*',
            '"zebra word" OR "quagga word"',
          ]) {
            found.push(await find({ q, sort: 'bestmatch' }));
          }
          return found;
        };
        const without = await orders();
        const like = (
          of: 'zebra' | 'quagga',
          version: string,
          count: number,
          hidden: Partial<EntityTraits>,
        ) =>
          Array.from({ length: count }, (_, at): EntityTraits => {
            return { id: `${of}-${at}`, title: `${of} word`, metadata: { version }, ...hidden };
          });
        await write(...like('zebra', 'v1', 3, { access: 'restricted' }));
        expect(await orders()).toEqual(without);
        await write(...like('quagga', 'v2', 7, { form: 'draft' }));
        expect(await orders()).toEqual(without);
      });

      test.each<[who: string, viewer: SearchTraits['viewer'], found: string[]]>([
        [
          'the owner',
          { userId: 'ann' },
          ['open-1', 'secret-open-1', 'open-2', 'secret-open-2', 'open-3', 'secret-open-3'],
        ],
        ['another user', { userId: 'ben' }, ['open-1', 'open-2', 'open-3']],
        [
          'an administrator',
          { seesAll: true },
          ['open-1', 'secret-open-1', 'open-2', 'secret-open-2', 'open-3', 'secret-open-3'],
        ],
        [
          'who has a link',
          { viewParentIds: ['parent-of-secret-open-2'] },
          ['open-1', 'open-2', 'secret-open-2', 'open-3'],
        ],
        [
          'who has a link of the package of a resource',
          { viewParentIds: ['parent-of-secret-open-3'] },
          ['open-1', 'secret-open-1', 'open-2', 'open-3', 'secret-open-3'],
        ],
      ])('%s finds what may be read', async (_, viewer, found) => {
        await fill(...CORPUS, ...TWINS, ...DRAFTS);
        expect(await find(viewer ? { viewer } : {})).toEqual(found);
      });

      test('an embargo ends by the clock', async () => {
        const passed = (afterId: string, limit: number) =>
          tested.index.withPassedEmbargo(new Date('2026-06-02T00:00:00Z'), afterId, limit);
        await fill({ id: 'embargoed', access: 'restricted', embargoUntil: '2026-06-01' });
        expect(await find({ now: new Date('2026-05-31T23:59:59Z') })).toEqual([]);
        expect(await find({ now: new Date('2026-06-01T00:00:00Z') })).toEqual(['embargoed']);
        expect(await passed('', 10)).toEqual([{ id: 'embargoed', kind: 'record' }]);
        await write({ id: 'too', kind: 'package', access: 'restricted', embargoUntil: '2026-06-02' });
        expect(await passed('', 1)).toEqual([{ id: 'embargoed', kind: 'record' }]);
        expect(await passed('embargoed', 1)).toEqual([{ id: 'too', kind: 'package' }]);
        expect(await passed('too', 1)).toEqual([]);
        await write({ id: 'embargoed', access: 'public' });
        expect(await passed('', 10)).toEqual([{ id: 'too', kind: 'package' }]);
      });
    });

    describe('facets', () => {
      beforeAll(() =>
        fill(
          {
            id: 'a',
            createdAt: 1,
            resourceType: 'image-photo',
            metadata: { subjects: [{ subject: 'x=y' }, { subject: 'b' }] },
          },
          { id: 'b', createdAt: 2, resourceType: 'image-photo', metadata: { languages: [{ id: 'eng' }] } },
          { id: 'c', createdAt: 3, resourceType: 'image-plot' },
          { id: 'd', createdAt: 4, resourceType: 'dataset', metadata: { subjects: [{ subject: 'b' }] } },
          { id: 'e', createdAt: 5, kind: 'package' },
        ),
      );

      test('count what the query finds, most frequent first', async () => {
        const facets = [
          'category',
          'record_type',
          'resource_type',
          'base_type',
          'subject',
          'is_published',
          'access_status',
        ];
        const { facets: counted } = await tested.index.search(aSearch({ facets }));
        expect(counted).toEqual({
          category: [{ value: 'open', count: 5 }],
          record_type: [
            { value: 'resource', count: 4 },
            { value: 'package', count: 1 },
          ],
          resource_type: [
            { value: 'image', count: 3 },
            { value: 'dataset', count: 1 },
          ],
          'resource_type::image': [
            { value: 'image-photo', count: 2 },
            { value: 'image-plot', count: 1 },
          ],
          base_type: [
            { value: 'other', count: 3 },
            { value: 'dataset', count: 1 },
          ],
          subject: [
            { value: 'b', count: 2 },
            { value: 'x=y', count: 1 },
          ],
          is_published: [{ value: 'true', count: 5 }],
          access_status: [{ value: 'metadata-only', count: 5 }],
        });
      });

      test.each<[selected: Record<string, string[]>, found: string[]]>([
        [{ resource_type: ['image'] }, ['a', 'b', 'c']],
        [{ resource_type: ['image::image-plot'] }, ['c']],
        [{ resource_type: ['image', 'image::image-plot'] }, ['c']],
        [{ resource_type: ['dataset', 'image::image-plot'] }, ['c', 'd']],
        [{ subject: ['b'] }, ['a', 'd']],
        [{ subject: ['x=y'] }, ['a']],
        [{ subject: ['b'], resource_type: ['dataset'] }, ['d']],
        [{ record_type: ['package', 'resource'] }, ['a', 'b', 'c', 'd', 'e']],
        [{ subject: ['nosuch'] }, []],
        [{ subject: ['\u0000', '\ud800', "'"] }, []],
      ])('%j narrows hits and total, not the counts', async (selected, found) => {
        const answer = await tested.index.search(aSearch({ facets: ['category'], selected }));
        expect({ ids: idsOf(answer), total: answer.total, facets: answer.facets }).toEqual({
          ids: found,
          total: found.length,
          facets: { category: [{ value: 'open', count: 5 }] },
        });
      });

      test('have ten values at most', async () => {
        const subjects = Array.from({ length: 30 }, (_, index) => ({ subject: `s${index}` }));
        await fill({ id: 'many', metadata: { subjects } });
        const { facets } = await tested.index.search(aSearch({ facets: ['subject'] }));
        expect(facets['subject']?.map(({ value }) => value)).toEqual(
          subjects
            .map(({ subject }) => subject)
            .sort()
            .slice(0, 10),
        );
      });
    });

    describe('suggestions', () => {
      const person = (name: string) => ({ person_or_org: { type: 'organizational', name } });
      beforeAll(() =>
        fill(
          {
            id: 'a',
            title: 'Flood risk',
            metadata: {
              creators: [person('Floodland, Ann'), person('Römer, Bea')],
              subjects: [{ subject: 'Floods' }, { subject: 'flood plains' }, { subject: 'Floods' }, {}, null],
            },
          },
          {
            id: 'b',
            title: 'Maps of flood risk in a flooded plain',
            metadata: { subjects: [{ subject: 'Floods' }], creators: [person('Römer, Bea')] },
          },
          {
            id: 'c',
            kind: 'package',
            title: ' Flood risk ',
            metadata: { subjects: [{ subject: "l'eau\n\nflottante" }] },
          },
          { id: 'd', title: `Flood ${'x'.repeat(500)}` },
          { id: 'e', parentId: 'p', versionIndex: 1, title: 'Flood of 2019' },
          {
            id: 'f',
            parentId: 'p',
            versionIndex: 2,
            title: 'Flood of 2020',
            metadata: { creators: 'nobody' },
          },
          { id: 'g', access: 'restricted', ownerId: 'ann', title: 'Flood secrets' },
          { id: 'h', form: 'draft', ownerId: 'ann', title: 'Flood drafts' },
        ),
      );

      test.each<[traits: SuggestTraits, found: string[]]>([
        [{ q: 'flood' }, ['2 Flood risk', '1 Flood of 2020', '1 Maps of flood risk in a flooded plain']],
        [{ q: 'FLÖ', limit: 2 }, ['2 Flood risk', '1 Flood of 2020']],
        [{ q: 'ri flo' }, ['2 Flood risk', '1 Maps of flood risk in a flooded plain']],
        [{ q: 'flood', kinds: ['package'] }, ['1 Flood risk']],
        [
          { q: 'flood', viewer: { userId: 'ann' } },
          ['2 Flood risk', '1 Flood of 2020', '1 Flood secrets', '1 Maps of flood risk in a flooded plain'],
        ],
        [{ q: 'lood' }, []],
        [{ q: 'flood x' }, []],
        [{ q: 'flood secrets' }, []],
        [{ q: 'flood', type: 'subject' }, ['2 Floods', '1 flood plains']],
        [{ q: 'pla', type: 'subject' }, ['1 flood plains']],
        [{ q: "flot l'eau", type: 'subject' }, ["1 l'eau\n\nflottante"]],
        [{ q: 'rom', type: 'creator' }, ['2 Römer, Bea']],
        [{ q: 'ann', type: 'creator' }, ['1 Floodland, Ann']],
        [{ q: 'ann romer', type: 'creator' }, []],
        [{ q: '_%' }, []],
        [{ q: `flood ${'y'.repeat(3_000)}` }, []],
      ])('of %j are %j', async (traits, found) => {
        expect(await suggested(traits)).toEqual(found);
      });

      test('are listed with one or two of their documents', async () => {
        const found = await tested.index.suggest(aSuggest({ q: 'flood' }));
        const sources = found.map(({ sources }) =>
          sources.map(({ kind, id, revision }) => `${kind} ${id} ${revision}`),
        );
        expect(sources.map((of) => of.sort())).toEqual([
          ['package c 1', 'record a 1'],
          ['record f 1'],
          ['record b 1'],
        ]);
      });

      test('follow the document', async () => {
        await write({ id: 'f', parentId: 'p', versionIndex: 2, revision: 2, title: 'Drought of 2020' });
        expect(await suggested({ q: '2020' })).toEqual(['1 Drought of 2020']);
      });
    });

    describe('boxes', () => {
      const square = (west: number, south: number, east: number, north: number) => ({
        type: 'Polygon',
        coordinates: [
          [
            [west, south],
            [east, south],
            [east, north],
            [west, north],
            [west, south],
          ],
        ],
      });
      beforeAll(() =>
        fill(
          { id: 'nowhere', createdAt: 1 },
          { id: 'square', createdAt: 2, geometry: square(10, 40, 20, 50) },
          { id: 'fiji', createdAt: 3, geometry: { type: 'Point', coordinates: [178, -18] } },
          { id: 'samoa', createdAt: 4, geometry: { type: 'Point', coordinates: [-172, -14] } },
          { id: 'across', createdAt: 5, geometry: square(175, -5, 185, 5) },
          { id: 'meridian', createdAt: 6, geometry: { type: 'Point', coordinates: [180, 80] } },
          {
            id: 'islands',
            createdAt: 7,
            geometry: {
              type: 'MultiPoint',
              coordinates: [
                [-100, 0],
                [100, 0],
              ],
            },
          },
          {
            id: 'several',
            createdAt: 8,
            geometry: {
              type: 'GeometryCollection',
              geometries: [
                { type: 'Point', coordinates: [0, 0] },
                {
                  type: 'LineString',
                  coordinates: [
                    [1, 60],
                    [2, 61],
                  ],
                },
              ],
            },
          },
          { id: 'broken', createdAt: 9, geometry: { type: 'Polygon', coordinates: 'x' } },
          { id: 'world', createdAt: 10, geometry: square(-200, -91, 200, 91) },
        ),
      );

      test.each<[bbox: string, found: string[]]>([
        ['9, 51, 13, 40', ['square', 'world']],
        ['9,40,13,51', ['square', 'world']],
        ['20,60,30,50', ['square', 'world']],
        ['20.1,60,30,50', ['world']],
        ['170,-10,-170,-20', ['fiji', 'samoa', 'world']],
        ['170,5,-170,-5', ['across', 'world']],
        ['-180,5,-176,0', ['across', 'world']],
        ['176,5,177,0', ['across', 'world']],
        ['-180,81,-179,79', ['meridian', 'world']],
        ['179,81,180,79', ['meridian', 'world']],
        ['-50,10,50,-10', ['several', 'world']],
        ['-110,10,-90,-10', ['islands', 'world']],
        ['-180,90,180,-90', ['square', 'fiji', 'samoa', 'across', 'meridian', 'islands', 'several', 'world']],
        [
          '',
          [
            'nowhere',
            'square',
            'fiji',
            'samoa',
            'across',
            'meridian',
            'islands',
            'several',
            'broken',
            'world',
          ],
        ],
      ])('%j finds %j', async (bbox, found) => {
        expect(await find({ bbox })).toEqual(found);
      });

      test('follow the document', async () => {
        await write({
          id: 'square',
          createdAt: 2,
          revision: 2,
          geometry: { type: 'Point', coordinates: [-60, -60] },
        });
        expect(await find({ bbox: '9,51,13,40' })).toEqual(['world']);
        expect(await find({ bbox: '-61,-59,-59,-61' })).toEqual(['square', 'world']);
      });
    });

    describe('writes', () => {
      test('an older state never replaces a newer one', async () => {
        await fill({ id: 'a', revision: 3, title: 'third' });
        await write({ id: 'a', revision: 2, title: 'second' });
        expect(await find({ q: 'third' })).toEqual(['a']);
        await write({ id: 'a', revision: 3, title: 'again' });
        expect(await find({ q: 'again' })).toEqual(['a']);
      });

      const mark = (id: string, revision: number): Tombstone => ({
        id,
        form: 'draft',
        kind: 'record',
        parentId: `parent-of-${id}`,
        revision: String(revision),
      });
      const drafts: SearchTraits = { viewer: { seesAll: true }, scope: { forms: 'either' } };

      test('a deleted entity stays deleted after late writes', async () => {
        await fill({ id: 'a', form: 'draft', revision: 3 });
        await bury(mark('a', 6));
        await write({ id: 'a', form: 'draft', revision: 5 });
        await bury(mark('a', 4));
        await write({ id: 'a', form: 'draft', revision: 5 }, { id: 'b' });
        expect(await find(drafts)).toEqual(['b']);
        expect(await tested.index.count()).toBe(1);
        await write({ id: 'a', form: 'draft', revision: 7 });
        expect(await find(drafts)).toEqual(['a*', 'b']);
        await bury(mark('a', 6));
        expect(await find(drafts)).toEqual(['a*', 'b']);
      });

      test('a deletion that arrives first excludes its copy', async () => {
        await fill();
        await bury(mark('b', 5));
        await write({ id: 'b', form: 'draft', revision: 4 });
        expect(await find(drafts)).toEqual([]);
        await tested.index.deleteOldTombstones(new Date(Date.now() + 60_000));
        await write({ id: 'b', form: 'draft', revision: 4 });
        expect(await find(drafts)).toEqual(['b*']);
      });

      const hold = (...documents: EntityTraits[]) => tested.index.write({ staged: documents.map(anEntity) });

      test('a staged form is found only by searches for its id', async () => {
        await fill();
        await hold(
          { id: 'a', createdAt: 1 },
          { id: 'b', createdAt: 2 },
          { id: 'c', createdAt: 3, form: 'draft' },
        );
        expect(await find({})).toEqual([]);
        expect(await find({ q: 'id:a' })).toEqual([]);
        expect(await find(drafts)).toEqual(['c*']);
        const { total, facets } = await tested.index.search(aSearch({ facets: ['category'] }));
        expect({ total, facets }).toEqual({ total: 0, facets: {} });
        expect(await find({ scope: { onlyIds: ['b'] } })).toEqual(['b']);
        await write({ id: 'b', createdAt: 2 });
        expect(await find({})).toEqual(['b']);
        await write({ id: 'a', createdAt: 1 });
        expect(await find({})).toEqual(['a', 'b']);
      });

      test('a staged form is not the newest version, even with the same version index', async () => {
        const of = { parentId: 'p', versionIndex: 2 };
        await fill({ id: 'a', ...of });
        await hold({ id: 'b', ...of });
        expect(await find({ scope: { latestOnly: true } })).toEqual(['a']);
      });

      test('an announced form stays so, with any later state of it', async () => {
        await fill({ id: 'a', revision: 1, title: 'first' });
        await hold({ id: 'a', revision: 2, title: 'second' });
        expect(await find({ q: 'second' })).toEqual(['a']);
        await hold({ id: 'b', revision: 5, title: 'fifth' });
        await write({ id: 'b', revision: 4, title: 'fourth' });
        expect(await find({ q: 'fifth' })).toEqual(['b']);
        expect(await find({ q: 'fourth' })).toEqual([]);
      });

      test('a version that is not announced leaves its elder the newest', async () => {
        await fill({ id: 'v1', parentId: 'p', versionIndex: 1, createdAt: 1 });
        await hold({ id: 'v2', parentId: 'p', versionIndex: 2, createdAt: 2 });
        expect(await find({ scope: { latestOnly: true } })).toEqual(['v1']);
        await write({ id: 'v2', parentId: 'p', versionIndex: 2, createdAt: 2 });
        expect(await find({ scope: { latestOnly: true } })).toEqual(['v2']);
      });

      test('siblings learn which version is the newest', async () => {
        await fill({ id: 'v1', parentId: 'p', versionIndex: 1, createdAt: 1 });
        expect(await find({ scope: { latestOnly: true } })).toEqual(['v1']);
        await write({ id: 'v2', parentId: 'p', versionIndex: 2, createdAt: 2 });
        expect(await find({ scope: { latestOnly: true } })).toEqual(['v2']);
      });

      test('hostile documents are indexed as far as they go', async () => {
        const words = Array.from({ length: 200_000 }, (_, index) => `word${index}`).join(' ');
        await fill({
          id: 'hostile',
          title: `huge ${words}`,
          metadata: {
            description: `${'<'.repeat(50_000)} \u0000 \ud800 ${"'".repeat(1_000)}\\`,
            subjects: [{ subject: 'a\u0000b' }, { subject: 'x'.repeat(5_000) }, { subject: 7 }, null],
            creators: 'nobody',
            publication_date: '0000-00-00',
            [`${'k'.repeat(3_000)}`]: 'deep',
            resource_type: { id: 'constructor' },
          },
        });
        expect(await find({ q: 'huge' })).toEqual(['hostile']);
        expect(await find({ q: 'id:hostile' })).toEqual(['hostile']);
      });

      test('a document with too many values is indexed up to the limits', async () => {
        const many = <Value>(count: number, value: (at: number) => Value) =>
          Array.from({ length: count }, (_, at) => value(at));
        await fill({
          id: 'many',
          title: 'many values',
          geometry: { type: 'MultiPoint', coordinates: many(20_000, (at) => [at / 1_000, 50]) },
          metadata: {
            subjects: many(20_000, (at) => ({ subject: `subject ${at}` })),
            creators: many(20_000, (at) => ({
              person_or_org: { type: 'organizational', name: `Creator ${at}` },
            })),
          },
        });
        expect(await find({ q: 'title:many' })).toEqual(['many']);
        expect(await find({ bbox: '0,60,1,40' })).toEqual(['many']);
        expect(await suggested({ q: 'subject', type: 'subject', limit: 1 })).toEqual(['1 subject 0']);
      });

      test('returns which ids it lacks and which kinds it knows', async () => {
        await fill({ id: 'a' }, { id: 'b', form: 'draft' }, { id: 'c', kind: 'package' });
        await bury(mark('d', 5));
        const missing = async (scope: Partial<Scope>) => {
          const answer = await tested.index.search(
            aSearch({ scope: { onlyIds: ['a', 'b', 'x', 'd'], ...scope } }),
          );
          return [...answer.missing].sort();
        };
        expect(await missing({ forms: 'either' })).toEqual(['d', 'x']);
        expect(await missing({ forms: 'published' })).toEqual([]);
        expect(await missing({ forms: 'published', publishedIds: ['a', 'b', 'd', 'x'] })).toEqual([
          'b',
          'd',
          'x',
        ]);
        expect(await missing({ forms: 'either', publishedIds: ['a', 'b', 'd'] })).toEqual(['b', 'd', 'x']);
        expect(await missing({ onlyIds: null })).toEqual([]);
        expect(await tested.index.kindsOf(['a', 'c', 'x'])).toEqual(
          new Map([
            ['a', 'record'],
            ['c', 'package'],
          ]),
        );
        expect(await tested.index.count()).toBe(3);
      });
    });

    describeBuilds(() => tested);
  });
}

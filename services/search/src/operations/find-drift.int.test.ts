import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openElasticsearch } from '@kr/testbed';
import { MAPPINGS } from '../engine/elasticsearch/index-layout.ts';
import { aPostgresIndex } from '../index/testing/a-postgres-index.ts';
import { anElasticsearchIndex } from '../index/testing/an-elasticsearch-index.ts';
import { anEntity, type EntityTraits } from '../index/testing/an-entity.ts';
import type { TestedIndex } from '../index/testing/tested-index.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { findDrift } from './find-drift.ts';

const FIRST: EntityTraits = { id: 'a-first', parentId: 'p', versionIndex: 1 };
const SECOND: EntityTraits = {
  id: 'z-second',
  parentId: 'p',
  versionIndex: 2,
  title: 'Zweite Fassung',
  embargoUntil: '2030-01-01',
  geometry: { type: 'Point', coordinates: [10, 50] },
  metadata: { publication_date: '2020', subjects: [{ subject: 'Zebras' }] },
};
const FORMS: readonly EntityTraits[] = [
  FIRST,
  SECOND,
  { ...SECOND, form: 'draft', revision: 2, title: 'Dritte Fassung' },
];
/** More than are compared at once, which lie between the two versions. */
const BETWEEN: readonly EntityTraits[] = Array.from({ length: 200 }, (_, n) => ({
  id: `m-${String(n).padStart(3, '0')}`,
}));

const sourceOf = (all: readonly EntityTraits[]): EntitySource => ({
  fetch: async (kind, ids) =>
    kind === 'record' ? all.filter(({ id }) => ids.includes(id)).map(anEntity) : [],
  list: async (kind, afterId) =>
    kind === 'record'
      ? [...new Set(all.map(({ id }) => id))]
          .filter((id) => id > afterId)
          .sort()
          .slice(0, 100)
      : [],
});

interface SpoiltIndex extends TestedIndex {
  /** The indexed columns of a form, except its name, and of all forms together. */
  parts(): Promise<string[]>;
  spoil(part: string): Promise<unknown>;
  /** All rows in it. */
  dump(): Promise<unknown>;
}

/**
 * Spoils the published form of the second version, part by part. Parts that are `hashed` are compared by their hash:
 * `index-row.unit.test.ts` tests what it covers.
 */
function describeSpoilt(
  name: string,
  all: readonly EntityTraits[],
  spoilt: readonly string[],
  hashed: readonly string[],
  hidden: readonly string[],
  open: () => Promise<SpoiltIndex>,
) {
  describe(`drift of an index in ${name}`, () => {
    let index: SpoiltIndex;
    beforeAll(async () => {
      index = await open();
      await index.index.write({ entities: all.map(anEntity) });
    });
    afterAll(() => index?.stop());

    const drift = async (isRepaired: boolean) => {
      let pauses = 0;
      const throttle = {
        pauseAfter: async () => {
          pauses += 1;
        },
      };
      const logger = { error: () => undefined };
      const deps = {
        index: index.index,
        source: sourceOf(all),
        throttle,
        logger,
        hasArrived: async () => true,
      };
      const { differences } = await findDrift(deps, isRepaired, new AbortController().signal);
      // One after each page: comparing leaves the processors to searches.
      expect(pauses).toBeGreaterThan(0);
      return differences.map(({ kind, id, form, problem }) => `${problem} ${kind} ${id} ${form}`);
    };

    test('is looked for in all of its parts', async () => {
      expect((await index.parts()).sort()).toEqual([...spoilt, ...hashed].sort());
    });

    test.each(spoilt)('in %s alone is found, nothing else is, and it is mended', async (part) => {
      const before = await index.dump();
      await index.spoil(part);
      expect(await index.dump()).not.toEqual(before);
      const problem = hidden.includes(part) ? 'missing' : 'stale';
      expect(await drift(true)).toEqual([`${problem} record z-second published`]);
      expect(await drift(false)).toEqual([]);
      expect(await index.dump()).toEqual(before);
    });
  });
}

const COLUMNS: Readonly<Record<string, string>> = {
  kind: `'package'`,
  parent_id: `'other'`,
  version_index: '0',
  is_latest: 'NOT is_latest',
  is_latest_draft: 'NOT is_latest_draft',
  has_draft: 'NOT has_draft',
  is_staged: 'true',
  revision: 'revision + 1',
  deleted_at: 'now()',
  content_hash: `'other'`,
};
const HASHED = [
  'managed_by',
  'owner_id',
  'record_access',
  'embargo_until',
  'created_at',
  'updated_at',
  'publication_from',
  'publication_to',
  'terms',
  'facet_sets',
  'suggestions',
  'index_box',
  'index_facet_set',
  'index_word',
];

describeSpoilt(
  'Postgres',
  [...FORMS, ...BETWEEN],
  Object.keys(COLUMNS),
  HASHED,
  ['is_staged', 'deleted_at'],
  async () => {
    const tested = await aPostgresIndex();
    const { pool } = tested;
    const rows = async (sql: string) => (await pool.query(sql)).rows;
    return {
      ...tested,
      parts: async () =>
        (
          await rows(
            `SELECT DISTINCT CASE table_name WHEN 'index_document' THEN column_name ELSE table_name END AS part
           FROM information_schema.columns
           WHERE table_schema = current_schema() AND table_name <> 'index_state'
             AND column_name NOT IN ('id', 'form')`,
          )
        ).map(({ part }) => part),
      spoil: (part) =>
        pool.query(
          `UPDATE index_document SET ${part} = ${COLUMNS[part]} WHERE id = 'z-second' AND form = 'published'`,
        ),
      dump: async () => [
        // Sets that were gone have other ids.
        await rows(
          `SELECT (to_jsonb(d) - 'facet_sets')::text, ARRAY(
             SELECT entries::text FROM string_to_table(rtrim(facet_sets), ' ') AS set_id
             JOIN index_facet_set s ON s.id = set_id::integer
           ) FROM index_document d ORDER BY id, form`,
        ),
        await rows('SELECT id, form, bounds::text FROM index_box ORDER BY id, form'),
        await rows('SELECT * FROM index_word ORDER BY word'),
      ],
    };
  },
);

const FIELDS: Readonly<Record<string, unknown>> = {
  kind: 'package',
  parentId: 'other',
  versionIndex: 0,
  revision: '7',
  contentHash: 'other',
  isDeleted: true,
  isStaged: true,
  isLatest: false,
  isLatestDraft: false,
  hasDraft: false,
};
const HASHED_FIELDS = [
  'managedBy',
  'ownerId',
  'recordAccess',
  'embargoUntil',
  'createdAt',
  'updatedAt',
  'publicationFrom',
  'publicationTo',
  'words',
  'fieldWords',
  'exact',
  'facets',
  'boxes',
  'suggestions',
];
const elasticsearch = await openElasticsearch();
if ('missing' in elasticsearch) test.skip(`drift in Elasticsearch (${elasticsearch.missing})`, () => {});
else {
  describeSpoilt(
    'Elasticsearch',
    FORMS,
    Object.keys(FIELDS),
    HASHED_FIELDS,
    ['isStaged', 'isDeleted'],
    async () => {
      const tested = await anElasticsearchIndex(elasticsearch);
      const { client } = tested;
      const index = await tested.liveName();
      return {
        ...tested,
        // The instant of a deletion does not matter to searches.
        parts: async () =>
          Object.keys(MAPPINGS.properties ?? {}).filter(
            (field) => !['id', 'form', 'deletedAt'].includes(field),
          ),
        spoil: (part) =>
          client.update({ index, id: 'published:z-second', doc: { [part]: FIELDS[part] }, refresh: true }),
        dump: async () => {
          const { hits } = await client.search({ index, size: 1_000, sort: ['id', 'form'] });
          return hits.hits.map(({ _id, _source }) => [_id, _source]);
        },
      };
    },
  );
}

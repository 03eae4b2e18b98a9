import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openElasticsearch } from '@kr/testbed';
import { MAPPINGS } from '../engine/elasticsearch/index-layout.ts';
import { anElasticsearchIndex } from '../engine/elasticsearch/testing/an-elasticsearch-index.ts';
import { aPostgresIndex } from '../engine/postgres/testing/a-postgres-index.ts';
import { anEntity, type EntityTraits } from '../engine/testing/an-entity.ts';
import type { TestedIndex } from '../engine/testing/tested-index.ts';
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

/** The damaged columns of the published form of the second version. */
function describeSpoilt(
  name: string,
  all: readonly EntityTraits[],
  spoilt: readonly string[],
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
      expect((await index.parts()).sort()).toEqual([...spoilt].sort());
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
  managed_by: `'somebody'`,
  owner_id: `'somebody'`,
  record_access: `'restricted'`,
  embargo_until: 'NULL',
  version_index: '0',
  is_latest: 'NOT is_latest',
  is_latest_draft: 'NOT is_latest_draft',
  has_draft: 'NOT has_draft',
  is_announced: 'false',
  created_at: `created_at + interval '1 microsecond'`,
  updated_at: `updated_at + interval '1 microsecond'`,
  revision: 'revision + 1',
  deleted_at: 'now()',
  publication_from: 'publication_from - 1',
  publication_to: 'NULL',
  terms: `terms || 'spoilt'::tsvector`,
  facet_sets: `split_part(facet_sets, ' ', 1) || ' '`,
  suggestions: `suggestions[2:]`,
};
const TABLES: Readonly<Record<string, string>> = {
  // Of no other form.
  index_facet_set: `
    DELETE FROM index_facet_set s USING index_document d
    WHERE d.id = 'z-second' AND d.form = 'published' AND s.id = split_part(d.facet_sets, ' ', 1)::integer`,
  index_box: `DELETE FROM index_box WHERE id = 'z-second' AND form = 'published'`,
  // Of the title of no other form.
  index_word: `DELETE FROM index_word WHERE word = 'zweite'`,
};

describeSpoilt(
  'Postgres',
  [...FORMS, ...BETWEEN],
  [...Object.keys(COLUMNS), ...Object.keys(TABLES)],
  ['is_announced', 'deleted_at'],
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
           WHERE table_name IN ('index_document', 'index_box', 'index_facet_set', 'index_word')
             AND column_name NOT IN ('id', 'form')`,
          )
        ).map(({ part }) => part),
      spoil: (part) =>
        pool.query(
          TABLES[part] ??
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
  managedBy: 'somebody',
  ownerId: 'somebody',
  recordAccess: 'restricted',
  embargoUntil: null,
  versionIndex: 0,
  createdAt: '1',
  updatedAt: '1',
  revision: '7',
  publicationFrom: 1,
  publicationTo: 1,
  isLive: false,
  isAnnounced: false,
  isLatest: false,
  isLatestDraft: false,
  hasDraft: false,
  words: { a: ['spoilt'] },
  fieldWords: [],
  exact: [],
  facets: { spoilt: ['spoilt'] },
  boxes: [],
  suggestions: [],
};
const elasticsearch = await openElasticsearch();
if ('missing' in elasticsearch) test.skip(`drift in Elasticsearch (${elasticsearch.missing})`, () => {});
else {
  describeSpoilt('Elasticsearch', FORMS, Object.keys(FIELDS), ['isAnnounced', 'isLive'], async () => {
    const tested = await anElasticsearchIndex(elasticsearch);
    const { client, index } = tested;
    return {
      ...tested,
      // When a mark was written is of no matter to searches.
      parts: async () =>
        Object.keys(MAPPINGS.properties ?? {}).filter((field) => !['id', 'form', 'buriedAt'].includes(field)),
      spoil: (part) =>
        client.update({ index, id: 'published:z-second', doc: { [part]: FIELDS[part] }, refresh: true }),
      dump: async () => {
        const { hits } = await client.search({ index, size: 1_000, sort: ['id', 'form'] });
        return hits.hits.map(({ _id, _source }) => [_id, _source]);
      },
    };
  });
}

import { ServiceError } from '@kr/service-error';
import type { EntityForm, EntityKind, IndexedEntity } from '../documents/entity.ts';
import { contentHash, indexRow } from '../documents/index-row.ts';
import type { Deadline } from '../engine/deadline.ts';
import {
  type Answered,
  type EngineAnswer,
  type EngineSearch,
  type EngineSuggest,
  type Head,
  type Heads,
  type IndexChanges,
  type IndexDifference,
  keyOf,
  type Operation,
  type SearchEngine,
  type StateFilter,
  type Suggestion,
  type Transaction,
  type Write,
} from '../engine/search-engine.ts';
import {
  decideChanges,
  decideRemoval,
  decideRepair,
  decideStaging,
  decideTombstones,
  type EncodedChanges,
  type EncodedForm,
  findDifferences,
  headOf,
} from './decide-changes.ts';
import {
  type Generation,
  type IndexState,
  type IndexStateRow,
  liveElsewhere,
  newGenerationId,
  setBuilding,
  setLive,
} from './index-state.ts';
import { yieldToEventLoop } from './yield-to-event-loop.ts';

/**
 * The index of all entities in one engine. It consists of generations: searches use the live one. Another one can be
 * built beside it, which then replaces it; meanwhile changes are written to both. There is one build at a time, and the
 * caller ensures this; it outlives the process.
 */
export interface SearchIndex {
  /** The engine, for operators. */
  readonly engine: string;
  /**
   * @throws ServiceError `unavailable` with code `search_timeout` when it takes too long, without it when another engine or
   * release has the live generation; `invalid` for a query whose values do not fit their fields
   * @param deadline for all statements together
   */
  search(search: EngineSearch, deadline: Deadline): Promise<EngineAnswer>;
  /**
   * Values of the newest published versions that the viewer may read, by number of documents, then by value.
   * @throws ServiceError `unavailable`: as `search`
   */
  suggest(suggest: EngineSuggest, deadline: Deadline): Promise<readonly Suggestion[]>;
  /** All changes or none become visible, at once. Older states of a form change nothing; may be repeated. */
  write(changes: IndexChanges): Promise<void>;
  /** The kind of each id that the index knows. */
  kindsOf(ids: readonly string[]): Promise<ReadonlyMap<string, EntityKind>>;
  /** Ids of one page of entities whose embargo has ended since they were written, after an id (exclusive, empty: from the start). */
  withPassedEmbargo(now: Date, afterId: string, limit: number): Promise<{ id: string; kind: EntityKind }[]>;
  /** Deletes tombstones that were written before an instant. */
  deleteOldTombstones(writtenBefore: Date): Promise<void>;
  /** Whether the live generation was built from the services completely. @throws ServiceError `unavailable`: as `search` */
  isFilled(): Promise<boolean>;
  /** Forms in the live generation that are not deleted. */
  count(): Promise<number>;
  /**
   * Starts a build with only the tombstones of the live generation, and discards an unfinished one.
   * @returns its id: processes that know only an older build cannot write into a newer one
   */
  startBuild(): Promise<string>;
  /**
   * Writes into a build only. A form that exists with the same revision stays, and is revealed: events wrote it, and
   * may have written newer ones.
   * @throws Error when it is not the generation that is being built
   */
  build(id: string, entities: readonly IndexedEntity[]): Promise<void>;
  /**
   * Makes a build the live generation. Staged forms stay staged, unless the index was never filled. May be repeated,
   * also after success.
   * @param isIdle whether there are no searches, so that all processors may be used
   * @throws Error when it is not the generation that is being built
   */
  finishBuild(id: string, isIdle?: boolean): Promise<void>;
  /** Whether the live generation is the one that was built under this id. */
  isLive(id: string): Promise<boolean>;
  /** Deletes generations that are neither live nor being built. */
  dropFormer(): Promise<void>;
  /** Ids with a form of that kind that is not deleted, after an id (exclusive, empty: from the start), in a stable order. */
  listIds(kind: EntityKind, afterId: string, limit: number): Promise<string[]>;
  /** The differences of these ids in the live generation, if exactly `entities` had been written. */
  compare(
    kind: EntityKind,
    ids: readonly string[],
    entities: readonly IndexedEntity[],
  ): Promise<IndexDifference[]>;
  /**
   * Replaces differing forms by `entities`, and ghosts by tombstones, regardless of revisions, at one moment. Forms
   * that have changed since the comparison are skipped.
   */
  repair(differences: readonly IndexDifference[], entities: readonly IndexedEntity[]): Promise<void>;
  stop(): Promise<void>;
}

/** Attempts of a write that others interfere with. */
const MAX_ATTEMPTS = 10;
const PAGE = 500;

/**
 * Opens the index. If the engine has no usable live generation (a new installation, another engine, another layout, a lost
 * index), searches use an empty one until the first build is finished.
 */
export async function openSearchIndex<Content>(
  engine: SearchEngine<Content>,
  state: IndexState,
): Promise<SearchIndex> {
  const generations = openGenerations(engine, state);
  await generations.open();
  const { transact, withoutLostBuild, query, current } = generations;

  const encodeAll = async (entities: readonly IndexedEntity[] = []): Promise<EncodedForm<Content>[]> => {
    const run = yieldToEventLoop();
    const forms: EncodedForm<Content>[] = [];
    for (const entity of entities) forms.push(await run(encode(engine, entity)));
    return forms;
  };

  /** Reads, decides and writes until no other writer has interfered. */
  const change = async (
    target: Target,
    about: About,
    decide: (heads: Heads) => Operation<Content>[],
  ): Promise<void> => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const operations = decide(await engine.heads(target.id, about, target));
      if (operations.length === 0 || (await engine.apply(target.id, operations, target))) return;
    }
    throw new ServiceError('unavailable', 'Another process changes the index.', { retryAfterMs: 1_000 });
  };

  /** Changes the live generation and the one that is being built. */
  const changeAll = (work: (target: Target) => Promise<void>): Promise<void> =>
    withoutLostBuild(() =>
      transact(async (tx, { live, building }) => {
        for (const id of building === null ? [live.id] : [building, live.id])
          await work({ id, tx, isBulk: false });
      }),
    );

  async function* pagesOf(generation: string, filter: StateFilter): AsyncGenerator<Head[]> {
    for (let after: Head | null | undefined = null; after !== undefined; ) {
      const page: Head[] = await engine.states(generation, filter, after, PAGE);
      if (page.length > 0) yield page;
      after = page.length < PAGE ? undefined : page.at(-1);
    }
  }

  const entityPage = async (filter: StateFilter, afterId: string, limit: number) => {
    const after = { id: afterId, form: LAST_FORM };
    const heads = await engine.states((await current()).live.id, filter, after, limit);
    return new Map(heads.map(({ id, kind }) => [id, kind]));
  };

  return {
    engine: engine.name,
    search: (search, deadline) => query((id) => engine.search(id, search, deadline)),
    suggest: (suggest, deadline) => query((id) => engine.suggest(id, suggest, deadline)),
    write: async ({ entities, staged, tombstones = [] }) => {
      const changes: EncodedChanges<Content> = {
        entities: await encodeAll(entities),
        staged: await encodeAll(staged),
        tombstones,
      };
      const about = aboutForms([...(entities ?? []), ...(staged ?? []), ...tombstones]);
      if (about.ids.length === 0) return;
      const rules = { replacesSameRevision: true };
      await changeAll((target) => change(target, about, (heads) => decideChanges(heads, changes, rules)));
    },
    kindsOf: async (ids) => {
      const heads = await engine.heads((await current()).live.id, { ids, parentIds: [] }, null);
      return new Map([...heads.values()].map(({ id, kind }) => [id, kind]));
    },
    withPassedEmbargo: async (now, afterId, limit) => {
      const entities = await entityPage({ isDeleted: false, embargoEndedBy: now }, afterId, limit);
      return [...entities].map(([id, kind]) => ({ id, kind }));
    },
    deleteOldTombstones: (writtenBefore) =>
      changeAll(async (target) => {
        for await (const page of pagesOf(target.id, { isDeleted: true, deletedBefore: writtenBefore }))
          await engine.apply(target.id, decideRemoval(page), target);
      }),
    isFilled: async () => (await current()).isFilled,
    count: async () => engine.count((await current()).live.id),
    startBuild: async () => {
      await generations.dropFormer();
      return transact(async (tx, used) => {
        const id = newGenerationId(used);
        await engine.create(id, tx);
        for await (const page of pagesOf(used.live.id, { isDeleted: true }))
          await engine.apply(id, decideTombstones(page), { tx, isBulk: true });
        await setBuilding(tx, id);
        return id;
      });
    },
    build: async (id, entities) => {
      const changes = { entities: await encodeAll(entities) };
      const rules = { replacesSameRevision: false };
      await withoutLostBuild(() =>
        transact(async (tx, { building }) => {
          assertBuilding(id, building);
          const target = { id, tx, isBulk: true };
          await change(target, aboutForms(entities), (heads) => decideChanges(heads, changes, rules));
        }),
      );
    },
    finishBuild: (id, isIdle = false) =>
      withoutLostBuild(async () => {
        const former = await current();
        if (former.live.id === id) return;
        assertBuilding(id, former.building);
        await engine.seal(id, isIdle);
        await transact(async (tx, { live, isFilled, building }) => {
          assertBuilding(id, building);
          const staged = isFilled ? pagesOf(live.id, { isDeleted: false, isStaged: true }) : [];
          for await (const page of staged) {
            const keys = new Set(page.map(keyOf));
            await change({ id, tx, isBulk: false }, aboutForms(page), (heads) => decideStaging(heads, keys));
          }
          await setLive(tx, { ...live, id }, true);
        });
      }),
    isLive: async (id) => (await current()).live.id === id,
    dropFormer: generations.dropFormer,
    listIds: async (kind, afterId, limit) => [
      ...(await entityPage({ kind, isDeleted: false }, afterId, limit)).keys(),
    ],
    compare: async (kind, ids, entities) => {
      const expected = entities.map((entity) => headOf(entity, contentHash(entity)));
      const about = { ids, parentIds: expected.map(({ parentId }) => parentId) };
      const heads = await engine.heads((await current()).live.id, about, null);
      return findDifferences(heads, kind, ids, expected);
    },
    repair: async (differences, entities) => {
      const forms = await encodeAll(entities);
      const about = aboutForms([...differences, ...entities]);
      await changeAll(async (target) => {
        // Siblings under a wrong parent get new flags too.
        const stored = await engine.heads(target.id, about, target);
        const family = aboutForms([...differences, ...entities, ...stored.values()]);
        await change(target, family, (heads) => decideRepair(heads, differences, forms));
      });
    },
    stop: async () => {
      await Promise.all([engine.stop(), state.stop()]);
    },
  };
}

/** A generation that is written in a transaction. */
interface Target extends Write {
  id: string;
}

interface About {
  ids: readonly string[];
  parentIds: readonly string[];
}

/** No form of an entity is after this one. */
const LAST_FORM: EntityForm = 'published';

function aboutForms(forms: readonly { id: string; parentId: string }[]): About {
  return {
    ids: [...new Set(forms.map(({ id }) => id))],
    parentIds: [...new Set(forms.map(({ parentId }) => parentId))],
  };
}

function assertBuilding(id: string, building: string | null): void {
  if (building !== id) throw new Error(`the generation ${id} is not being built`);
}

function* encode<Content>(
  engine: SearchEngine<Content>,
  entity: IndexedEntity,
): Generator<void, EncodedForm<Content>> {
  const row = yield* indexRow(entity);
  return { head: headOf(entity, row.contentHash), content: yield* engine.encode(row) };
}

type UsableState = IndexStateRow & { live: Generation };

/** The generations of one engine, and which of them is live. */
function openGenerations<Content>(engine: SearchEngine<Content>, state: IndexState) {
  const { name, layout } = engine;
  let live: Generation = { engine: name, layout, id: '' };

  const isUsable = (generation: Generation | null): generation is Generation =>
    generation?.engine === name && generation.layout === layout;

  const usable = ({ live: used }: IndexStateRow): Generation => {
    if (!isUsable(used)) throw liveElsewhere();
    return used;
  };

  const current = async (): Promise<UsableState> => {
    const row = await state.read();
    live = usable(row);
    return { ...row, live };
  };

  const transact = <Result>(
    work: (tx: Transaction, current: UsableState) => Promise<Result>,
  ): Promise<Result> => state.transact((tx, row) => work(tx, { ...row, live: usable(row) }));

  /** @returns whether the generation that is being built was deleted */
  const discardLostBuild = async (): Promise<boolean> => {
    const { building: lost } = await current();
    if (lost === null || (await engine.list()).includes(lost)) return false;
    await transact(async (tx, { building }) => {
      if (building === lost) await setBuilding(tx, null);
    });
    return true;
  };

  return {
    current,
    /** As `IndexState.transact`. @throws ServiceError `unavailable` when another engine or release has the live generation */
    transact,

    /** Deletes generations that are older than the newest one in use, but not live. */
    dropFormer: async (): Promise<void> => {
      const { live: used, building } = await current();
      const newest = building ?? used.id;
      for (const id of await engine.list()) if (id < newest && id !== used.id) await engine.drop(id);
    },

    /**
     * Runs a write that may be repeated. If it fails because the generation that is being built has been deleted, the
     * build is discarded and the write is run once more.
     */
    withoutLostBuild: async (write: () => Promise<void>): Promise<void> => {
      try {
        await write();
      } catch (error) {
        if (!(await discardLostBuild().catch(() => false))) throw error;
        await write();
      }
    },

    /** Runs a query on the live generation, and once more if another one has replaced it meanwhile. */
    query: async <Answer>(run: (generation: string) => Promise<Answered<Answer>>): Promise<Answer> => {
      const used = live.id;
      const first = await run(used).catch((error: unknown) => ({ error }));
      if ('live' in first && first.live === used) return first.answer;
      const { live: next } = await current().catch((error: unknown) => {
        throw 'error' in first && !(error instanceof ServiceError) ? first.error : error;
      });
      // It failed for another reason.
      if ('error' in first && next.id === used) throw first.error;
      return (await run(next.id)).answer;
    },

    /** Makes an empty generation the live one, if there is none that can be used. */
    open: async (): Promise<void> => {
      const exists = async ({ live: former }: IndexStateRow) =>
        isUsable(former) && (await engine.list()).includes(former.id);
      if (!(await exists(await state.read()))) {
        const id = await state.transact(async (tx, row) => {
          const created = newGenerationId(row);
          await engine.create(created, tx);
          return created;
        });
        await engine.seal(id, true);
        await state.transact(async (tx, row) => {
          if (!(await exists(row))) await setLive(tx, { engine: name, layout, id }, false);
        });
      }
      await current();
    },
  };
}

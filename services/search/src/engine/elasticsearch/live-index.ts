import { randomBytes } from 'node:crypto';
import { Client } from '@elastic/elasticsearch';
import { ServiceError } from '@kr/service-error';
import type pg from 'pg';
import type { ElasticsearchConfig } from '../../config.ts';
import { activeIndex, keepUpIndex } from '../active-index.ts';
import { type IndexSize, indexTemplate, LAYOUT } from './index-layout.ts';

/** Names by which indexes are reached: searches go to one, and writes to the other too while it is being built. */
export interface IndexNames {
  prefix: string;
  live: string;
  build: string;
  /** A new index, without alias. */
  fresh(): string;
  /** Whether an index may be one of those. */
  isFresh(index: string): boolean;
  /** A pattern that all of them fit. */
  all: string;
}

export function indexNames(prefix: string): IndexNames {
  return {
    prefix,
    live: `${prefix}-live`,
    build: `${prefix}-build`,
    fresh: () => `${prefix}-${Date.now().toString(36)}${randomBytes(3).toString('hex')}`,
    // Prefixes of other installations may begin with this one, and a hyphen.
    isFresh: (index) =>
      index.startsWith(`${prefix}-`) && /^[0-9a-z]{14,}$/u.test(index.slice(prefix.length + 1)),
    all: `${prefix}-*`,
  };
}

export interface IndexMeta {
  /** Of the index that searches see; what is built in its place takes it over. */
  id: string;
  layout: number;
  /** Whether everything there was has been written into it. */
  isFilled: boolean;
}

/**
 * Makes an empty index under an alias, in place of the one that had it.
 *
 * @returns its name, and the id in its `_meta`
 * @throws Error when an index template that is not ours makes it otherwise
 */
export async function createIndex(
  client: Client,
  names: IndexNames,
  alias: 'live' | 'build',
  size: IndexSize,
): Promise<{ index: string; id: string }> {
  await removeUnaliased(client, names);
  const index = names.fresh();
  const former = await indexBehind(client, names[alias]);
  const id = randomBytes(8).toString('hex');
  await client.indices.putIndexTemplate(indexTemplate(names.prefix, size));
  const { shards_acknowledged } = await client.indices.create({
    index,
    mappings: { _meta: { id, isFilled: false } },
    wait_for_active_shards: 1,
  });
  if (!shards_acknowledged) {
    throw new ServiceError('unavailable', 'The shards of a new index have not started in time.', {
      retryAfterMs: 1_000,
    });
  }
  if ((await readMeta(client, index)).layout !== LAYOUT) {
    throw new Error(`another index template of a higher priority fits ${names.all}`);
  }
  await client.indices.updateAliases({
    actions: [
      { add: { index, alias: names[alias], is_write_index: true } },
      ...(former === undefined ? [] : [{ remove: { index: former, alias: names[alias] } }]),
    ],
  });
  await removeUnaliased(client, names);
  return { index, id };
}

/**
 * Deletes the indexes without an alias: replaced ones, and new ones whose writer stopped before it added the alias. The
 * caller holds the writers' lock, so no other writer is creating an index.
 */
export async function removeUnaliased(client: Client, names: IndexNames): Promise<void> {
  const known = await client.indices.getAlias({ index: names.all });
  const unaliased = Object.entries(known).flatMap(([index, { aliases }]) =>
    names.isFresh(index) && Object.keys(aliases).length === 0 ? [index] : [],
  );
  if (unaliased.length > 0) await client.indices.delete({ index: unaliased });
}

/**
 * Creates the live index unless it exists, has this layout, and is the one that was maintained last: another one
 * lacks the events since.
 * @returns the name of the maintained index
 */
export async function openLiveIndex(
  client: Client,
  names: IndexNames,
  { size, database }: { size: IndexSize; database: pg.PoolClient },
): Promise<string> {
  const live = await indexBehind(client, names.live);
  const meta = live === undefined ? undefined : await readMeta(client, live);
  const keptUp = await activeIndex(database);
  if (meta !== undefined && meta.layout === LAYOUT && keptUp === activeName(meta.id)) return keptUp;
  const name = activeName((await createIndex(client, names, 'live', size)).id);
  await keepUpIndex(database, name);
  return name;
}

const activeName = (id: string): string => `elasticsearch ${id}`;

/** The index that has an alias. */
export async function indexBehind(client: Client, alias: string): Promise<string | undefined> {
  const known = await client.indices.getAlias({ name: alias }, { ignore: [404] });
  return Object.keys(known).find((name) => known[name]?.aliases?.[alias] !== undefined);
}

export async function readMeta(client: Client, index: string): Promise<IndexMeta> {
  const [mapping] = Object.values(await client.indices.getMapping({ index }));
  const { id, layout, isFilled } = mapping?.mappings._meta ?? {};
  return { id: String(id), layout: Number(layout), isFilled: isFilled === true };
}

export async function writeMeta(client: Client, index: string, meta: IndexMeta): Promise<void> {
  await client.indices.putMapping({ index, _meta: { ...meta } });
}

/**
 * Makes the index that is being built the live one, at one moment for all searches.
 *
 * The former index loses its alias and is deleted afterwards. In one request (`remove_index`), a node deletes its shards
 * before its searches resolve the alias to the new index, and those searches fail.
 */
export async function exchange(client: Client, names: IndexNames, build: string): Promise<void> {
  const live = await indexBehind(client, names.live);
  await client.indices.updateAliases({
    actions: [
      { remove: { index: build, alias: names.build } },
      { add: { index: build, alias: names.live, is_write_index: true } },
      ...(live === undefined ? [] : [{ remove: { index: live, alias: names.live } }]),
    ],
  });
}

export interface ElasticsearchCheck {
  /** @throws Error when Elasticsearch does not answer in time, or the index that is searched is not there */
  check(): Promise<void>;
  stop(): Promise<void>;
}

/** Less than a health check may take. */
const CHECK_TIMEOUT_MS = 1_500;

/** Uses a separate connection: searches and writes may be waiting for theirs. */
export function elasticsearchCheck({ url, login, indexPrefix }: ElasticsearchConfig): ElasticsearchCheck {
  const client = new Client({
    node: url.href,
    ...(login === null ? {} : { auth: login }),
    maxRetries: 0,
    agent: { connections: 1 },
    requestTimeout: CHECK_TIMEOUT_MS,
  });
  const { live } = indexNames(indexPrefix);
  return {
    check: async () => {
      if (!(await client.indices.existsAlias({ name: live }))) throw new Error(`there is no ${live}`);
    },
    stop: () => client.close(),
  };
}

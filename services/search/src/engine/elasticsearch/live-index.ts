import { randomBytes } from 'node:crypto';
import type { Client } from '@elastic/elasticsearch';
import { type IndexSize, indexSettings, LAYOUT, MAPPINGS } from './index-layout.ts';

/** Names by which indexes are reached: searches go to one, and writes to the other too while it is being built. */
export interface IndexNames {
  live: string;
  build: string;
  /** A new index, which nobody knows yet. */
  fresh(): string;
}

export function indexNames(prefix: string): IndexNames {
  return {
    live: `${prefix}-live`,
    build: `${prefix}-build`,
    fresh: () => `${prefix}-${Date.now().toString(36)}${randomBytes(3).toString('hex')}`,
  };
}

export interface IndexMeta {
  layout: number;
  /** Whether everything there was has been written into it. */
  isFilled: boolean;
}

/** Makes an empty index under an alias, in place of the one that had it. */
export async function createIndex(
  client: Client,
  names: IndexNames,
  alias: 'live' | 'build',
  size: IndexSize,
): Promise<void> {
  const index = names.fresh();
  const former = await indexBehind(client, names[alias]);
  const meta: IndexMeta = { layout: LAYOUT, isFilled: false };
  await client.indices.create({
    index,
    settings: indexSettings(size),
    mappings: { ...MAPPINGS, _meta: { ...meta } },
    wait_for_active_shards: 1,
  });
  await client.indices.updateAliases({
    actions: [
      { add: { index, alias: names[alias], is_write_index: true } },
      ...(former === undefined ? [] : [{ remove_index: { index: former } }]),
    ],
  });
}

/** The index that has an alias. */
export async function indexBehind(client: Client, alias: string): Promise<string | undefined> {
  const known = await client.indices.getAlias({ name: alias }, { ignore: [404] });
  return Object.keys(known).find((name) => known[name]?.aliases?.[alias] !== undefined);
}

export async function readMeta(client: Client, index: string): Promise<IndexMeta> {
  const [mapping] = Object.values(await client.indices.getMapping({ index }));
  const { layout, isFilled } = mapping?.mappings._meta ?? {};
  return { layout: Number(layout), isFilled: isFilled === true };
}

export async function writeMeta(client: Client, index: string, meta: IndexMeta): Promise<void> {
  await client.indices.putMapping({ index, _meta: { ...meta } });
}

/** Makes the index that is being built the live one, at one moment for all searches. */
export async function exchange(client: Client, names: IndexNames): Promise<void> {
  const [live, build] = await Promise.all([
    indexBehind(client, names.live),
    indexBehind(client, names.build),
  ]);
  if (build === undefined) throw new Error('no index is being built');
  await client.indices.updateAliases({
    actions: [
      { remove: { index: build, alias: names.build } },
      { add: { index: build, alias: names.live, is_write_index: true } },
      ...(live === undefined ? [] : [{ remove_index: { index: live } }]),
    ],
  });
}

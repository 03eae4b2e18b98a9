import { randomBytes } from 'node:crypto';
import { askKeeper, keeperOf } from '../jest/keeper.ts';
import { newRunFolder } from '../run-folder.ts';
import { findElasticsearch, startElasticsearch } from './elasticsearch-program.ts';

export interface TestElasticsearch {
  url: string;
  /** A prefix for the names of the indexes of one test or file. */
  freshPrefix(): string;
  removeIndexes(prefix: string): Promise<void>;
}

/** The reason for a missing server, for the names of skipped tests. */
export interface MissingElasticsearch {
  missing: string;
}

type Started = { url: string } | MissingElasticsearch;

/** The first start may have to download and unpack the program on a busy machine. */
const START_MS = 900_000;

/**
 * A real Elasticsearch 9: the one that `ELASTICSEARCH_TEST_URL` names, else one for the whole run of Jest, started when
 * the first test needs it, or for this process: a container if a runtime is available, else a local program.
 */
export async function openElasticsearch(): Promise<TestElasticsearch | MissingElasticsearch> {
  const given = process.env['ELASTICSEARCH_TEST_URL'];
  const started = given === undefined || given === '' ? await startedOnce() : { url: given };
  if ('missing' in started) return started;
  const { url } = started;
  return {
    url,
    freshPrefix: () => `test-${randomBytes(6).toString('hex')}`,
    removeIndexes: (prefix) => removeIndexes(url, prefix),
  };
}

/** Also removes their template. Deletes by name because a server may refuse to delete by pattern. */
async function removeIndexes(url: string, prefix: string): Promise<void> {
  const asked = await fetch(new URL(`/_cat/indices/${prefix}-*?format=json&h=index`, url));
  const names = ((await asked.json()) as { index: string }[]).map(({ index }) => index);
  if (names.length > 0) await fetch(new URL(`/${names.join()}`, url), { method: 'DELETE' });
  await fetch(new URL(`/_index_template/${prefix}`, url), { method: 'DELETE' });
}

async function startedOnce(): Promise<Started> {
  const keeper = keeperOf('elasticsearch');
  // The longest start, and a minute before it.
  return keeper === undefined
    ? startElasticsearchIn(await newRunFolder('elasticsearch'))
    : askKeeper<Started>(keeper, START_MS + 60_000);
}

/** The server ends with the process that started it. */
export async function startElasticsearchIn(folder: string): Promise<Started> {
  try {
    const container = await import('../container.ts');
    if (await container.hasContainerRuntime()) return await container.startElasticsearchContainer();
    const program = await findElasticsearch();
    return await startElasticsearch({ program, folder, timeoutMs: START_MS });
  } catch (error) {
    return { missing: reasonOf(error) };
  }
}

/** Limit for the reason, which may be the whole output of a program. */
const MOST_CHARACTERS = 400;

function reasonOf(error: unknown): string {
  const said = (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, ' ').trim();
  return `needs ELASTICSEARCH_TEST_URL or a container runtime: ${said.slice(0, MOST_CHARACTERS)}`;
}

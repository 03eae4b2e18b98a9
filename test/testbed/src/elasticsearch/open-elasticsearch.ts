import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '@kr/local-stack/backends';
import { newRunFolder } from '../run-folder.ts';
import { findElasticsearch, startElasticsearch } from './elasticsearch-program.ts';

export interface TestElasticsearch {
  url: string;
  /** What the names of indexes of one test or file begin with. */
  freshPrefix(): string;
  removeIndexes(prefix: string): Promise<void>;
}

/** Why there is none: what a test that is skipped says. */
export interface MissingElasticsearch {
  missing: string;
}

/** As told by whoever has started it to the others of the run. */
type Started = { url: string } | MissingElasticsearch;

/** The first start may have to fetch and lay out the program, on a machine that does other things too. */
const START_MS = 900_000;

/**
 * A real Elasticsearch 9: the one that `ELASTICSEARCH_TEST_URL` names, else one for the whole run of Jest, started by
 * the first who asks: a container, where there is a runtime for them, else a local program.
 */
export async function openElasticsearch(): Promise<TestElasticsearch | MissingElasticsearch> {
  const given = process.env['ELASTICSEARCH_TEST_URL'];
  const started = given === undefined || given === '' ? await startOnce() : { url: given };
  if ('missing' in started) return started;
  const { url } = started;
  return {
    url,
    freshPrefix: () => `test-${randomBytes(6).toString('hex')}`,
    removeIndexes: (prefix) => removeIndexes(url, prefix),
  };
}

/** With their template, if there is one. By their names, for whole patterns are removed by no server that is set up with care. */
async function removeIndexes(url: string, prefix: string): Promise<void> {
  const asked = await fetch(new URL(`/_cat/indices/${prefix}-*?format=json&h=index`, url));
  const names = ((await asked.json()) as { index: string }[]).map(({ index }) => index);
  if (names.length > 0) await fetch(new URL(`/${names.join()}`, url), { method: 'DELETE' });
  await fetch(new URL(`/_index_template/${prefix}`, url), { method: 'DELETE' });
}

/** The run's folder, which its beginning has made and its end clears away. */
async function startOnce(): Promise<Started> {
  const folder = process.env['TEST_ELASTICSEARCH_FOLDER'] ?? (await newRunFolder('elasticsearch'));
  const told = join(folder, 'started.json');
  if (await isFirst(folder)) {
    const started = await start(folder).catch((error: unknown) => ({ missing: reasonOf(error) }));
    await writeFile(`${told}.new`, JSON.stringify(started));
    await rename(`${told}.new`, told);
  }
  const read = () => readFile(told, 'utf8').then((text) => JSON.parse(text) as Started);
  return until(read, {
    timeoutMs: START_MS,
    everyMs: 200,
    what: 'the Elasticsearch that another test starts',
  });
}

function isFirst(folder: string): Promise<boolean> {
  return writeFile(join(folder, 'taken'), '', { flag: 'wx' }).then(
    () => true,
    () => false,
  );
}

async function start(folder: string): Promise<Started> {
  const container = await import('../container.ts');
  if (await container.hasContainerRuntime()) return container.startElasticsearchContainer();
  const program = await findElasticsearch();
  return startElasticsearch({ program, folder, timeoutMs: START_MS });
}

/** Of the reason, which may be all that a program has said. */
const MOST_CHARACTERS = 400;

function reasonOf(error: unknown): string {
  const said = (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, ' ').trim();
  return `needs ELASTICSEARCH_TEST_URL or a container runtime: ${said.slice(0, MOST_CHARACTERS)}`;
}

import { isTransient } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import { bytesOf, eachPage } from '../consume/each-page.ts';
import type { GiveWay } from '../consume/give-way.ts';
import { type PageSize, pagesOf } from '../consume/pages-of.ts';
import { pauseUnlessStopped } from '../consume/pause-unless-stopped.ts';
import { writeApart } from '../consume/write-apart.ts';
import type { IndexedEntity, SearchEngine } from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { fetchReadable } from '../sources/fetch-readable.ts';
import type { LoggedOperation } from './operation-log.ts';
import type { HeldLock } from './with-lock.ts';

export interface ReindexDeps {
  engine: SearchEngine;
  source: EntitySource;
  giveWay: GiveWay;
  /** Whether the index has taken in every event of what was committed before the call. */
  hasArrived: () => Promise<boolean>;
  logger: Logger;
}

export interface ReindexProgress {
  /** Forms in the new index so far. */
  documents: number;
  /** Why it does not get on at the moment, or what it had to leave out; empty if it does, whole. */
  problem: string;
}

/** What the log has of the latest one: `build` since an index is being built for it. */
export type ReindexReport = ReindexProgress & { expected: number; build?: string };

export function loggedReindex({ report }: LoggedOperation): ReindexReport {
  return report as unknown as ReindexReport;
}

const LONGEST_PAUSE_MS = 10_000;

/**
 * Builds the index anew beside the live one and lets it take its place, whoever is away meanwhile. What happens while it
 * is built is written into both, so the new one lacks nothing once every event of what was read is there, but what cannot be
 * read and what the engine refuses.
 *
 * @returns whether it came to its end: not if it was stopped
 * @throws Error when something failed that no waiting mends: it has to be begun again
 */
export async function reindex(
  { engine, source, giveWay, hasArrived, logger }: ReindexDeps,
  lock: HeldLock,
  stopping: AbortSignal,
  tell: (progress: Partial<ReindexReport>) => Promise<void>,
): Promise<boolean> {
  const signal = AbortSignal.any([stopping, lock.lost]);
  let documents = 0;
  const refused: Error[] = [];
  // Of what is tried again at the moment: one page may get on while another one does not.
  const stuck = new Map<object, string>();
  const progress = (): ReindexProgress => {
    const [problem = problemOf(refused)] = stuck.values();
    return { documents, problem };
  };
  const patiently = async <Result>(what: string, act: () => Promise<Result>) => {
    const result = await tryOn(act, signal, async (error) => {
      // At a start the other services may not be ready yet: no stack trace.
      logger.warn(
        isTransient(error) ? { reason: messageOf(error) } : { err: error },
        `${what} failed, trying again`,
      );
      stuck.set(act, `${what}: ${messageOf(error)}`);
      await tell(progress());
    });
    stuck.delete(act);
    return result;
  };

  const build = await patiently('beginning the index', engine.beginBuild);
  if (build === undefined) return false;
  // Before anything is written: whoever finds it in place of the former index knows that all was done.
  await tell({ build });
  const write = (entities: readonly IndexedEntity[]) => engine.build(build, entities);
  const list: EntitySource['list'] = async (...after) =>
    (await patiently('listing entities', () => source.list(...after))) ?? [];
  const pages = (size: PageSize) => pagesOf(list, size, signal);
  await eachPage(pages, giveWay, async ({ kind, ids }) => {
    const read = await patiently('reading entities', () => fetchReadable(source, logger, kind, ids));
    if (read === undefined) return 0;
    const { entities, unreadable } = read;
    refused.push(...unreadable.map(({ error }) => error));
    const left = await patiently('writing documents', () => writeApart(entities, write, logger));
    if (left === undefined) return 0;
    refused.push(...left);
    documents += entities.length - left.length;
    await tell(progress());
    return bytesOf(entities);
  });
  if (documents === 0 && refused[0]) throw refused[0];
  const finished = await patiently('taking the place of the former index', async () => {
    if (!(await hasArrived())) throw new EventsOnTheirWay();
    await lock.check();
    await engine.finishBuild(build, !giveWay.isWanted());
    return true;
  });
  if (finished !== true) return false;
  await tell(progress());
  return true;
}

function problemOf(refused: readonly Error[]): string {
  const [first] = refused;
  if (first === undefined) return '';
  return `${refused.length} entities or documents were left out, which are in the log; the first: ${messageOf(first)}`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

class EventsOnTheirWay extends Error {
  override readonly name = 'EventsOnTheirWay';
  override readonly message = 'events of what was read are on their way';
}

/** Undefined when it was stopped first. */
async function tryOn<Result>(
  act: () => Promise<Result>,
  signal: AbortSignal,
  onFailure: (error: unknown) => Promise<void>,
): Promise<Result | undefined> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      return await act();
    } catch (error) {
      if (!isTransient(error) && !(error instanceof EventsOnTheirWay)) throw error;
      if (failures === 0) await onFailure(error);
      await pauseUnlessStopped(Math.min(100 * 2 ** failures, LONGEST_PAUSE_MS), signal);
    }
  }
  return undefined;
}

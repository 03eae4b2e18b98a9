import type { AuthoriseResponse__Output } from '@kr/contracts';
import { type BusConnection, subscribeEphemeral } from '@kr/event-bus';
import type { Logger } from '@kr/telemetry';
import { LRUCache } from 'lru-cache';
import { COLLECTION } from '../kind.ts';
import type { Rendered } from '../rendering/rendered.ts';

/** With an id in the one spelling that is cached. */
const PAGE_PATH = `/(?:${Object.values(COLLECTION).join('|')})/[0-9a-z]{5}-[0-9a-z]{5}`;
const PAGE_URL = new RegExp(`^${PAGE_PATH}$`);
const ENTITY_URL = new RegExp(`^/api${PAGE_PATH}$`);

/** Whether this URL, which may have a query, is the path of a published entity and nothing more. */
export function isEntityUrl(url: string): boolean {
  return ENTITY_URL.test(url);
}

/** Whether this URL, which may have a query, is the path of the page of a published entity and nothing more. */
export function isPageUrl(url: string): boolean {
  return PAGE_URL.test(url);
}

/** Milliseconds after the read for which a published document, or the permission to read its files, may be used. */
export const LIFETIME_MS = 1_000;
const MAX_BYTES = 8 * 1024 * 1024;

/** The parts of the request on which an answer depends, beside the state of its entity. */
export interface AnswerAddress {
  /** `/api/records/{id}` or `/records/{id}` */
  path: string;
  mediaType: string;
  baseUrl: string;
}

/** Stores what was read, unless its entity may have changed since the read began. */
export type Store<Key, Value> = (key: Key, parentId: string, value: Value) => void;

/** Values read for anonymous callers, which are the same for all callers. Refusals are never stored. */
export interface PublicReads<Key, Value> {
  find(key: Key): Value | undefined;
  /** To be called before the read whose result may be stored. */
  beginRead(): Store<Key, Value>;
  /**
   * Reads and stores a value, or waits for a running read whose result `find` could return if it were stored already. Results
   * without a parent are neither stored nor shared.
   * @throws the error of `read`
   */
  readShared(key: Key, read: () => Promise<ReadResult<Value>>): Promise<Value>;
}

export interface ReadResult<Value> {
  value: Value;
  /** Undefined: other callers may get another value. */
  parentId: string | undefined;
}

/** Answers about published entities, ready to be sent again. */
export interface ResponseCache extends PublicReads<AnswerAddress, Rendered> {
  /** Permissions to read the files of published entities, by `{kind}/{id}`. */
  fileAccess: PublicReads<string, AuthoriseResponse__Output>;
  /** The versions of this parent have changed. */
  forgetParent(parentId: string): void;
  forgetAll(): void;
}

interface Cached<Value> {
  parentId: string;
  value: Value;
  /** On the clock of `now`. */
  until: number;
}

interface RunningRead<Value> {
  result: Promise<ReadResult<Value>>;
  /** On the clock of `now`: its result may be used until then. */
  until: number;
  /** The number of changes before it began. */
  changesBefore: number;
}

/** @param now milliseconds on a clock that never goes back */
export function openResponseCache(now: () => number): ResponseCache {
  const answers = publicReads<AnswerAddress, Rendered>(now, keyOf, ({ bytes }) => bytes.length + 512);
  const fileAccess = publicReads<string, AuthoriseResponse__Output>(
    now,
    (key) => key,
    (access) => JSON.stringify(access).length + 512,
  );
  return {
    find: answers.find,
    beginRead: answers.beginRead,
    readShared: answers.readShared,
    fileAccess,
    forgetParent(parentId) {
      answers.forget((changed) => changed === parentId);
      fileAccess.forget((changed) => changed === parentId);
    },
    forgetAll() {
      answers.forget(() => true);
      fileAccess.forget(() => true);
    },
  };
}

function publicReads<Key, Value extends object>(
  now: () => number,
  nameOf: (key: Key) => string,
  bytesOf: (value: Value) => number,
): PublicReads<Key, Value> & { forget(isOutdated: (parentId: string) => boolean): void } {
  const cached = new LRUCache<string, Cached<Value>>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ value }) => bytesOf(value),
  });
  const running = new Map<string, RunningRead<Value>>();
  let changes = 0;
  const beginRead = (): Store<Key, Value> => {
    // Measured from before the read: its result may be outdated when it ends.
    const until = now() + LIFETIME_MS;
    const changesBefore = changes;
    return (key, parentId, value) => {
      if (changes === changesBefore) cached.set(nameOf(key), { parentId, value, until });
    };
  };
  return {
    find(key) {
      const found = cached.get(nameOf(key));
      return found !== undefined && now() < found.until ? found.value : undefined;
    },
    beginRead,
    async readShared(key, read) {
      const name = nameOf(key);
      const joined = running.get(name);
      if (joined !== undefined && now() < joined.until && joined.changesBefore === changes) {
        const shared = await joined.result.catch(() => undefined);
        if (shared?.parentId !== undefined) return shared.value;
      }
      const store = beginRead();
      const own = { until: now() + LIFETIME_MS, changesBefore: changes, result: read() };
      running.set(name, own);
      try {
        const { value, parentId } = await own.result;
        if (parentId !== undefined) store(key, parentId, value);
        return value;
      } finally {
        if (running.get(name) === own) running.delete(name);
      }
    },
    forget(isOutdated) {
      changes += 1;
      for (const [name, { parentId }] of cached.entries()) if (isOutdated(parentId)) cached.delete(name);
    },
  };
}

function keyOf({ path, mediaType, baseUrl }: AnswerAddress): string {
  return `${baseUrl} ${path} ${mediaType}`;
}

/** Events that change a published document, its relations or its readers. */
const SUBJECTS = [
  'knowledge.records.record.published',
  'knowledge.records.record.changed',
  'knowledge.packages.package.published',
  'knowledge.packages.package.changed',
  'knowledge.packages.resources.changed',
] as const;

/** Removes documents that were changed by other processes, usually within milliseconds; missed changes expire. */
export function forgetByEvents(
  answers: Pick<ResponseCache, 'forgetParent' | 'forgetAll'>,
  connection: BusConnection,
  logger: Logger,
): { stop(): Promise<void> } {
  return subscribeEphemeral({
    connection,
    subjects: SUBJECTS,
    onEvent: ({ parentId }) => answers.forgetParent(parentId),
    onGap: answers.forgetAll,
    logger,
  });
}

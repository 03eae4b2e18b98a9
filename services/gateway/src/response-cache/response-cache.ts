import { type BusConnection, overhearEvents } from '@kr/event-bus';
import type { Logger } from '@kr/telemetry';
import { LRUCache } from 'lru-cache';
import type { Rendered } from '../rendering/rendered.ts';

// One spelling only, and no query: what else leads to the same document is answered the long way.
const ENTITY_PATH = /^\/api\/(?:records|packages)\/[0-9a-z]{5}-[0-9a-z]{5}$/;
const PAGE_PATH = /^\/(?:records|packages)\/[0-9a-z]{5}-[0-9a-z]{5}$/;

/** Whether the target of a request is a published entity and nothing more. */
export function isEntityPath(target: string | undefined): target is string {
  return target !== undefined && ENTITY_PATH.test(target);
}

/** Whether the target of a request is the page of a published entity and nothing more. */
export function isPagePath(target: string): boolean {
  return PAGE_PATH.test(target);
}

/** The row of the route table that answers such a target. */
export function entityRoute(target: string): string {
  return target.replace(/[^/]*$/, ':id');
}

/** A published document may be shown at most this long after it was read, in milliseconds. */
export const KEPT_MS = 1_000;
const MOST_BYTES = 8 * 1024 * 1024;

/** The parts of the request on which an answer depends, beside the state of its entity. */
export interface AnswerAddress {
  /** `/api/records/{id}` */
  path: string;
  mediaType: string;
  baseUrl: string;
}

/** Keeps what was read for one request, unless something was forgotten since the read began. */
export type Keep = (address: AnswerAddress, parentId: string, answer: Rendered) => void;

/**
 * Answers about published entities that everybody may see and sees alike, ready to be sent again. Only such answers
 * are ever kept: nothing a credential opened, no refusal, no doubt.
 */
export interface ResponseCache {
  find(address: AnswerAddress): Rendered | undefined;
  /** To be called before the read whose answer may be kept. */
  beginRead(): Keep;
  /** The versions of this parent have changed. */
  forgetParent(parentId: string): void;
  forgetAll(): void;
}

interface Kept {
  parentId: string;
  answer: Rendered;
  /** On the clock of `now`. */
  until: number;
}

/** @param now milliseconds on a clock that never goes back */
export function openPublicAnswers(now: () => number): ResponseCache {
  const kept = new LRUCache<string, Kept>({
    maxSize: MOST_BYTES,
    sizeCalculation: ({ answer }) => answer.bytes.length + 512,
  });
  let changes = 0;
  return {
    find(address) {
      const found = kept.get(keyOf(address));
      return found !== undefined && now() < found.until ? found.answer : undefined;
    },
    beginRead() {
      // Counted from before the read: what it shows may have changed while it was under way.
      const until = now() + KEPT_MS;
      const changesBefore = changes;
      return (address, parentId, answer) => {
        if (changes === changesBefore) kept.set(keyOf(address), { parentId, answer, until });
      };
    },
    forgetParent(parentId) {
      changes += 1;
      for (const [key, { parentId: of }] of kept.entries()) if (of === parentId) kept.delete(key);
    },
    forgetAll() {
      changes += 1;
      kept.clear();
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

/** Forgets what changed elsewhere, usually within milliseconds; what is missed expires. */
export function forgetByEvents(
  answers: Pick<ResponseCache, 'forgetParent' | 'forgetAll'>,
  connection: BusConnection,
  logger: Logger,
): { stop(): Promise<void> } {
  return overhearEvents({
    connection,
    subjects: SUBJECTS,
    onEvent: ({ parentId }) => answers.forgetParent(parentId),
    onGap: answers.forgetAll,
    logger,
  });
}

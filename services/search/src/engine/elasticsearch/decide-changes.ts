import type { IndexChanges, IndexDifference, IndexedEntity, Tombstone } from '../search-engine.ts';
import {
  documentId,
  type StoredContent,
  type StoredFlags,
  type StoredMark,
  storedContent,
  storedMark,
} from './stored-document.ts';

/** The version of a document when it was read: it may be replaced as long as it has this version. */
export interface Standing {
  seqNo: number;
  primaryTerm: number;
}

/** The metadata of a document that decide about changes, without its content. */
export interface Head
  extends Pick<StoredContent, 'id' | 'form' | 'kind' | 'parentId' | 'revision'>,
    StoredFlags {
  versionIndex: number;
  /** Null for a document that is not in the index. */
  standing: Standing | null;
}

export type Heads = ReadonlyMap<string, Head>;

/** The operation for one document. */
export interface Operation {
  documentId: string;
  standing: Standing | null;
  /** The former document; null if it was not in the index. */
  former: StoredFlags | null;
  /** The whole of it is written, its flags alone are, or it is removed. */
  change: { whole: StoredContent | StoredMark } | 'flags' | 'remove';
  /** The document afterwards. */
  flags: StoredFlags;
}

interface HowToReplace {
  /** Whether a live document is also replaced by its own revision. */
  replacesSame: boolean;
  contentOf: (entity: IndexedEntity) => StoredContent;
}

/**
 * The operations for the documents of these ids and parents, which are all in `heads`: older states are ignored,
 * a tombstone prevents deleted states, and the values derived from siblings follow, also those of `formerParents`.
 */
export function decideChanges(
  heads: Heads,
  { entities = [], unannounced = [], tombstones = [] }: IndexChanges,
  now: Date,
  formerParents: readonly string[] = [],
  { replacesSame, contentOf }: HowToReplace = { replacesSame: true, contentOf: storedContent },
): Operation[] {
  const after = new Map(heads);
  const wholes = new Map<string, StoredContent | StoredMark>();
  for (const tombstone of tombstones) bury(after, wholes, tombstone, now);
  for (const entity of [...entities, ...unannounced])
    replace(after, wholes, entity, { replacesSame, contentOf });
  for (const { id, form } of entities) {
    const key = documentId({ id, form });
    const head = after.get(key);
    if (head) after.set(key, { ...head, isAnnounced: true });
  }
  const parentIds = [...entities, ...unannounced, ...tombstones].map(({ parentId }) => parentId);
  return operations(heads, derive(after, new Set([...parentIds, ...formerParents])), wholes);
}

/** Shows hidden forms. */
export function decideAnnouncement(heads: Heads): Operation[] {
  const after = new Map([...heads].map(([key, head]) => [key, { ...head, isAnnounced: true }]));
  return operations(
    heads,
    derive(after, new Set([...after.values()].map(({ parentId }) => parentId))),
    new Map(),
  );
}

/** Hides the forms that are hidden in another index. */
export function decideKeptBack(heads: Heads, keptBack: ReadonlySet<string>): Operation[] {
  const after = new Map(
    [...heads].map(([key, head]) => [key, keptBack.has(key) ? { ...head, isAnnounced: false } : head]),
  );
  return operations(
    heads,
    derive(after, new Set([...after.values()].map(({ parentId }) => parentId))),
    new Map(),
  );
}

/** As `SearchEngine.mend`: what is still as it was seen is forgotten, then the rules are those of all changes. */
export function decideMending(
  heads: Heads,
  differences: readonly IndexDifference[],
  entities: readonly IndexedEntity[],
  now: Date,
): Operation[] {
  const differing = new Set(differences.map(documentId));
  const tombstones = differences.flatMap(({ problem, revision, ...form }) =>
    problem === 'ghost' && revision !== null ? [{ ...form, revision }] : [],
  );
  const forgotten = new Map<string, Head>();
  for (const difference of differences) {
    const head = heads.get(documentId(difference));
    if (head && difference.problem !== 'ghost' && head.revision === difference.revision) {
      forgotten.set(documentId(difference), head);
    }
  }
  const left = new Map([...heads].filter(([key]) => !forgotten.has(key)));
  const changes = { entities: entities.filter((entity) => differing.has(documentId(entity))), tombstones };
  const formerParents = [...forgotten.values()].map(({ parentId }) => parentId);
  const decided = decideChanges(left, changes, now, formerParents).map((operation) => {
    const head = forgotten.get(operation.documentId);
    return head ? { ...operation, standing: head.standing, former: flagsOf(head) } : operation;
  });
  const rewritten = new Set(decided.map((operation) => operation.documentId));
  const removed = [...forgotten].filter(([key]) => !rewritten.has(key));
  return [
    ...decided,
    ...removed.map(
      ([key, head]): Operation => ({
        documentId: key,
        standing: head.standing,
        former: flagsOf(head),
        change: 'remove',
        flags: flagsOf(head),
      }),
    ),
  ];
}

/**
 * The forms of some ids among their siblings, if just `entities` had been written for these ids and none were
 * hidden.
 */
export function expectedFlags(
  heads: Heads,
  ids: ReadonlySet<string>,
  entities: readonly IndexedEntity[],
): ReadonlyMap<string, StoredFlags> {
  const others = [...heads].filter(([, { id }]) => !ids.has(id));
  const all = [...others, ...entities.map((entity) => [documentId(entity), headOf(entity)] as const)];
  const announced = new Map(all.map(([key, head]) => [key, { ...head, isAnnounced: true }]));
  const parentIds = new Set(entities.map(({ parentId }) => parentId));
  return new Map([...derive(announced, parentIds)].map(([key, head]) => [key, flagsOf(head)]));
}

type Wholes = Map<string, StoredContent | StoredMark>;

/** A mark for a form never seen is kept too: the copy it guards against may be on its way. */
function bury(heads: Map<string, Head>, wholes: Wholes, tombstone: Tombstone, now: Date): void {
  const key = documentId(tombstone);
  const head = heads.get(key);
  if (head && BigInt(tombstone.revision) < BigInt(head.revision)) return;
  const { kind, parentId } = head ?? tombstone;
  wholes.set(key, storedMark({ ...tombstone, kind, parentId }, now));
  heads.set(key, {
    id: tombstone.id,
    form: tombstone.form,
    kind,
    parentId,
    revision: tombstone.revision,
    versionIndex: 0,
    isLive: false,
    isAnnounced: head?.isAnnounced ?? true,
    isLatest: false,
    isLatestDraft: false,
    hasDraft: false,
    standing: head?.standing ?? null,
  });
}

/**
 * A document is replaced by later revisions, a live one also by its own on request, because derived values may have
 * changed.
 */
function replace(
  heads: Map<string, Head>,
  wholes: Wholes,
  entity: IndexedEntity,
  { replacesSame, contentOf }: HowToReplace,
): void {
  const key = documentId(entity);
  const head = heads.get(key);
  if (head) {
    const [given, kept] = [BigInt(entity.revision), BigInt(head.revision)];
    if (given < kept || (given === kept && !(head.isLive && replacesSame))) return;
  }
  wholes.set(key, contentOf(entity));
  heads.set(key, headOf(entity, head));
}

/** The values derived from siblings are added later. */
function headOf(
  { id, form, kind, parentId, revision, versionIndex }: IndexedEntity,
  former: Head | undefined = undefined,
): Head {
  return {
    id,
    form,
    kind,
    parentId,
    revision,
    versionIndex,
    isLive: true,
    isAnnounced: form === 'draft' || (former?.isAnnounced ?? false),
    isLatest: false,
    isLatestDraft: false,
    hasDraft: false,
    standing: former?.standing ?? null,
  };
}

/** Publishing one version changes what its siblings are, and an open draft what its published form is. */
function derive(heads: Heads, parentIds: ReadonlySet<string>): Heads {
  const live = [...heads.values()].filter(({ isLive, parentId }) => isLive && parentIds.has(parentId));
  const derived = new Map(heads);
  for (const siblings of Map.groupBy(live, ({ parentId }) => parentId).values()) {
    const newest = (of: readonly Head[]) => Math.max(...of.map(({ versionIndex }) => versionIndex));
    const newestShown = newest(
      siblings.filter(({ form, isAnnounced }) => form === 'published' && isAnnounced),
    );
    const newestOfAll = newest(siblings);
    const drafts = new Set(siblings.filter(({ form }) => form === 'draft').map(({ id }) => id));
    for (const head of siblings) {
      derived.set(documentId(head), {
        ...head,
        isLatest: head.form === 'published' && head.isAnnounced && head.versionIndex === newestShown,
        isLatestDraft: head.versionIndex === newestOfAll,
        hasDraft: drafts.has(head.id),
      });
    }
  }
  return derived;
}

function operations(
  before: Heads,
  after: Heads,
  wholes: ReadonlyMap<string, StoredContent | StoredMark>,
): Operation[] {
  return [...after].flatMap(([key, head]): Operation[] => {
    const whole = wholes.get(key);
    const flags = flagsOf(head);
    const known = before.get(key);
    const former = known === undefined ? null : flagsOf(known);
    const { standing } = head;
    if (whole) return [{ documentId: key, standing, former, change: { whole }, flags }];
    if (former !== null && isSame(former, flags)) return [];
    return [{ documentId: key, standing, former, change: 'flags', flags }];
  });
}

export const FLAGS = ['isLive', 'isAnnounced', 'isLatest', 'isLatestDraft', 'hasDraft'] as const;

export function isSame(one: StoredFlags, other: StoredFlags): boolean {
  return FLAGS.every((flag) => one[flag] === other[flag]);
}

function flagsOf({ isLive, isAnnounced, isLatest, isLatestDraft, hasDraft }: Head): StoredFlags {
  return { isLive, isAnnounced, isLatest, isLatestDraft, hasDraft };
}

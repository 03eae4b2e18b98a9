import type { IndexedEntity } from '../documents/entity.ts';
import {
  type Flags,
  flagsOf,
  type Head,
  type Heads,
  haveSameFlags,
  type IndexDifference,
  keyOf,
  type Operation,
  type Tombstone,
} from '../engine/search-engine.ts';

/** One form of an entity with the content that an engine stores. */
export interface EncodedForm<Content> {
  head: Head;
  content: Content;
}

export interface EncodedChanges<Content> {
  entities?: readonly EncodedForm<Content>[];
  staged?: readonly EncodedForm<Content>[];
  tombstones?: readonly Tombstone[];
}

export interface WriteRules {
  /** Whether a form is also replaced by other content with the same revision: values from other services change. */
  replacesSameRevision: boolean;
  /** Parents that have lost forms. */
  formerParents?: readonly string[];
}

/**
 * The operations for changes. `heads` has all forms with their ids and parents. Older states are ignored, a tombstone
 * rejects states before the deletion, and the flags of siblings follow.
 */
export function decideChanges<Content>(
  heads: Heads,
  { entities = [], staged = [], tombstones = [] }: EncodedChanges<Content>,
  { replacesSameRevision, formerParents = [] }: WriteRules,
): Operation<Content>[] {
  const after = new Map(heads);
  const contents = new Map<string, { content: Content } | 'tombstone'>();
  for (const tombstone of tombstones) {
    const head = after.get(keyOf(tombstone));
    if (head && BigInt(tombstone.revision) < BigInt(head.revision)) continue;
    // A tombstone of an unknown form is stored too: a copy of the form may still arrive.
    after.set(keyOf(tombstone), tombstoneHead(tombstone, head));
    contents.set(keyOf(tombstone), 'tombstone');
  }
  for (const form of [...entities, ...staged]) {
    const key = keyOf(form.head);
    const head = after.get(key);
    if (head && !isReplaced(head, form.head, replacesSameRevision)) continue;
    const isStaged = form.head.form === 'published' && (head?.isStaged ?? true);
    after.set(key, { ...form.head, isStaged, version: head?.version ?? null });
    contents.set(key, { content: form.content });
  }
  for (const { head } of entities) {
    const stored = after.get(keyOf(head));
    if (stored) after.set(keyOf(head), { ...stored, isStaged: false });
  }
  const changed = [...entities, ...staged].map(({ head }) => head.parentId);
  const parents = [...changed, ...tombstones.map(({ parentId }) => parentId), ...formerParents];
  return operations(heads, withFlags(after, new Set(parents)), contents);
}

function isReplaced(stored: Head, incoming: Head, replacesSameRevision: boolean): boolean {
  const [before, after] = [BigInt(stored.revision), BigInt(incoming.revision)];
  if (after !== before) return after > before;
  return replacesSameRevision && !stored.isDeleted && stored.contentHash !== incoming.contentHash;
}

/** Stages the published forms that are staged in another generation. */
export function decideStaging<Content>(heads: Heads, staged: ReadonlySet<string>): Operation<Content>[] {
  const after = new Map(
    [...heads].map(([key, head]) => [key, staged.has(key) ? { ...head, isStaged: true } : head]),
  );
  return operations(heads, withFlags(after, parentsOf(heads.values())), new Map());
}

/** Stores tombstones that another generation has, in an empty one. */
export function decideTombstones<Content>(tombstones: readonly Head[]): Operation<Content>[] {
  return tombstones.map((head) => ({
    head: { ...head, version: null },
    former: null,
    change: 'tombstone',
  }));
}

export function decideRemoval<Content>(heads: readonly Head[]): Operation<Content>[] {
  return heads.map((head) => ({ head, former: flagsOf(head), change: 'remove' }));
}

/**
 * Replaces differing forms by those of the services regardless of revisions, and ghosts by tombstones. Forms that have
 * changed since the comparison are skipped.
 */
export function decideRepair<Content>(
  heads: Heads,
  differences: readonly IndexDifference[],
  forms: readonly EncodedForm<Content>[],
): Operation<Content>[] {
  const differing = new Set(differences.map(keyOf));
  const forgotten = new Map<string, Head>();
  for (const difference of differences) {
    const head = heads.get(keyOf(difference));
    if (head && difference.problem !== 'ghost' && head.revision === difference.revision)
      forgotten.set(keyOf(head), head);
  }
  const others = new Map([...heads].filter(([key]) => !forgotten.has(key)));
  const changes = {
    entities: forms.filter(({ head }) => differing.has(keyOf(head))),
    tombstones: differences.flatMap(({ problem, revision, ...form }) =>
      problem === 'ghost' && revision !== null ? [{ ...form, revision }] : [],
    ),
  };
  const rules = { replacesSameRevision: true, formerParents: [...parentsOf(forgotten.values())] };
  const decided = decideChanges(others, changes, rules).map((operation): Operation<Content> => {
    const stored = forgotten.get(keyOf(operation.head));
    if (!stored) return operation;
    return {
      ...operation,
      head: { ...operation.head, version: stored.version },
      former: flagsOf(stored),
    };
  });
  const rewritten = new Set(decided.map(({ head }) => keyOf(head)));
  const lost = [...forgotten.values()].filter((head) => !rewritten.has(keyOf(head)));
  return [...decided, ...decideRemoval<Content>(lost)];
}

/**
 * The differences of these ids, of one kind, between the stored forms and those of their service. `heads` has all forms
 * with the ids, and their siblings.
 */
export function findDifferences(
  heads: Heads,
  kind: Head['kind'],
  ids: readonly string[],
  expected: readonly Head[],
): IndexDifference[] {
  const compared = new Set(ids);
  const others = [...heads].filter(([, { id }]) => !compared.has(id));
  const all = new Map([...others, ...expected.map((head) => [keyOf(head), head] as const)]);
  // A staged form is a separate difference, so flags are expected as if no form were staged.
  const revealed = new Map([...all].map(([key, head]) => [key, { ...head, isStaged: false }]));
  const flagged = withFlags(revealed, parentsOf(expected));
  const keys = new Set(expected.map(keyOf));
  const ghosts = [...heads].filter(
    ([key, head]) => compared.has(head.id) && !head.isDeleted && head.kind === kind && !keys.has(key),
  );
  return [
    ...expected.flatMap((head) => {
      const stored = heads.get(keyOf(head));
      const problem = problemOf(flagged.get(keyOf(head)) ?? head, stored);
      return problem === null ? [] : [difference(head, problem, stored?.revision ?? null)];
    }),
    ...ghosts.map(([, head]) => difference(head, 'ghost', head.revision)),
  ];
}

function problemOf(expected: Head, stored: Head | undefined): 'missing' | 'stale' | null {
  if (stored === undefined || stored.isDeleted || stored.isStaged) return 'missing';
  return CONTENT.every((name) => expected[name] === stored[name]) && haveSameFlags(expected, stored)
    ? null
    : 'stale';
}

/** `versionIndex` and the others are also part of the hash, but only they decide about changes. */
const CONTENT = ['kind', 'parentId', 'revision', 'versionIndex', 'contentHash'] as const;

function difference(
  { id, form, kind, parentId }: Head,
  problem: IndexDifference['problem'],
  revision: string | null,
): IndexDifference {
  return { id, form, kind, parentId, problem, revision };
}

const NO_FLAGS: Flags = {
  isDeleted: false,
  isStaged: false,
  isLatest: false,
  isLatestDraft: false,
  hasDraft: false,
};

/** The head of a form that is not stored yet. */
export function headOf(
  { id, form, kind, parentId, revision, versionIndex }: IndexedEntity,
  contentHash: string,
): Head {
  return { id, form, kind, parentId, revision, versionIndex, contentHash, ...NO_FLAGS, version: null };
}

/** The kind and parent of a stored form are the right ones. */
function tombstoneHead(tombstone: Tombstone, stored: Head | undefined): Head {
  const { id, form, revision } = tombstone;
  const { kind, parentId } = stored ?? tombstone;
  const flags = { ...NO_FLAGS, isDeleted: true, isStaged: stored?.isStaged ?? false };
  const version = stored?.version ?? null;
  return { id, form, kind, parentId, revision, versionIndex: 0, contentHash: '', ...flags, version };
}

function parentsOf(heads: Iterable<Head>): Set<string> {
  return new Set(Array.from(heads, ({ parentId }) => parentId));
}

/** Publishing a version changes the flags of its siblings, and a draft those of its published form. */
function withFlags(heads: Heads, parentIds: ReadonlySet<string>): Heads {
  const present = [...heads.values()].filter(
    ({ isDeleted, parentId }) => !isDeleted && parentIds.has(parentId),
  );
  const flagged = new Map(heads);
  for (const siblings of Map.groupBy(present, ({ parentId }) => parentId).values()) {
    const newest = (of: readonly Head[]) => Math.max(...of.map(({ versionIndex }) => versionIndex));
    const isRevealed = ({ form, isStaged }: Head) => form === 'published' && !isStaged;
    const newestRevealed = newest(siblings.filter(isRevealed));
    const newestOfAll = newest(siblings);
    const drafts = new Set(siblings.filter(({ form }) => form === 'draft').map(({ id }) => id));
    for (const head of siblings) {
      flagged.set(keyOf(head), {
        ...head,
        isLatest: isRevealed(head) && head.versionIndex === newestRevealed,
        isLatestDraft: head.versionIndex === newestOfAll,
        hasDraft: drafts.has(head.id),
      });
    }
  }
  return flagged;
}

function operations<Content>(
  before: Heads,
  after: Heads,
  contents: ReadonlyMap<string, { content: Content } | 'tombstone'>,
): Operation<Content>[] {
  return [...after].flatMap(([key, head]): Operation<Content>[] => {
    const stored = before.get(key);
    const former = stored === undefined ? null : flagsOf(stored);
    const change = contents.get(key);
    if (change !== undefined) return [{ head, former, change }];
    if (former !== null && haveSameFlags(former, head)) return [];
    return [{ head, former, change: 'flags' }];
  });
}

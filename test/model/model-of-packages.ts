import {
  allItems,
  type Caller,
  closeWith,
  draftFor,
  type Item,
  isUnpublished,
  isVerdict,
  itemFor,
  lastOf,
  latestOf,
  leave,
  letGo,
  missing,
  NOT_FOUND,
  ok,
  packagesOf,
  readPublished,
  refused,
  type Target,
  type Verdict,
  type World,
} from './reference-model.ts';

export interface ListVerdict extends Verdict {
  /** The items of `errors` in the answer, each with its subject. */
  failed?: { record: string; message: string }[];
}

const NOT_MANAGED = "This record is a draft and can't be linked to the package as a resource.";
const FROZEN_ADD = "This resource can't be associated with the package.";
const FROZEN_REMOVE = "This resource can't be removed from the package.";

/** Only unpublished drafts that the caller manages and no other package has; one that is not refuses all. */
export function associate(caller: Caller, target: Target, records: readonly Target[]): Verdict {
  const found = itemFor(caller, target);
  if (isVerdict(found)) return found;
  const { family } = found.item;
  const refusal = refusalOf(records, (item) => item.family.owner === caller);
  if (refusal !== undefined) return refusal;
  const items = records.flatMap(({ item }) => (item === undefined ? [] : [item]));
  const isFree = (item: Item) =>
    item.family.managedBy === family || (item.family.managedBy === undefined && isUnpublished(item));
  if (!items.every(isFree)) return refused(400);
  for (const item of items) item.family.managedBy = family;
  return ok(204);
}

/**
 * Resources removed from the context are removed from unpublished versions of the package too; published ones
 * stay unchanged.
 */
export function dissociate(
  world: World,
  caller: Caller,
  target: Target,
  records: readonly Target[],
): Verdict {
  const found = itemFor(caller, target);
  if (isVerdict(found)) return found;
  const { family } = found.item;
  const refusal = refusalOf(records, (item) => item.family.managedBy === family || mayRead(caller, item));
  if (refusal !== undefined) return refusal;
  const items = records.flatMap(({ item }) => (item === undefined ? [] : [item]));
  for (const { family: resource } of items) {
    if (resource.managedBy !== family) continue;
    letGo(resource);
    for (const item of resource.items) {
      for (const main of packagesOf(world, item)) {
        if (main.family === family && isUnpublished(main)) leave(main, item);
      }
    }
  }
  return ok(204);
}

/** One that is missing or not for the caller refuses all. */
function refusalOf(parts: readonly Target[], isAllowed: (item: Item) => boolean): Verdict | undefined {
  const [gone, ...others] = parts.flatMap((part) => missing(part) ?? []);
  const isDenied = parts.some((part) => part.item?.family.kind === part.kind && !isAllowed(part.item));
  if (gone !== undefined) {
    const isClear = others.every(({ message }) => message === gone.message);
    return { ...(isClear ? gone : refused(404)), ...(isDenied ? { orElse: refused(403) } : {}) };
  }
  return isDenied ? refused(403) : undefined;
}

const mayRead = (caller: Caller, item: Item): boolean =>
  caller === item.family.owner || item.published?.access.record === 'public';

/** Invalid resources are named, the others are added. */
export function addResources(caller: Caller, target: Target, resources: readonly Target[]): ListVerdict {
  return changeResources(caller, target, resources, FROZEN_ADD, (main, item) => {
    if (main.resources.includes(item)) return;
    main.resources = [...main.resources, item];
    if (main.draft !== undefined) closeWith(main, item, main.draft.access);
  });
}

export function removeResources(caller: Caller, target: Target, resources: readonly Target[]): ListVerdict {
  return changeResources(caller, target, resources, FROZEN_REMOVE, leave);
}

function changeResources(
  caller: Caller,
  target: Target,
  resources: readonly Target[],
  frozen: string,
  change: (main: Item, resource: Item) => void,
): ListVerdict {
  const found = draftFor(caller, target);
  if (isVerdict(found)) return found;
  const refusal = refusalOf(resources, (item) => mayRead(caller, item));
  if (refusal !== undefined) return refusal;
  const items = [...new Set(resources.flatMap(({ item }) => (item === undefined ? [] : [item])))];
  const { item: main } = found;
  const failed: { record: string; message: string }[] = [];
  for (const item of items) {
    const message = !isUnpublished(main)
      ? frozen
      : isUnpublished(item) && item.family.managedBy !== main.family
        ? NOT_MANAGED
        : undefined;
    if (message === undefined) change(main, item);
    else failed.push({ record: item.id, message });
  }
  return { ...ok(200), failed };
}

/** The resources of the published version before this one; what is published has its own already. */
export function importResources(caller: Caller, target: Target): Verdict {
  const found = draftFor(caller, target);
  if (isVerdict(found)) return found;
  const { item } = found;
  const previous = item.family.items.findLast(
    ({ index, published }) => index < item.index && published !== undefined,
  );
  if (previous === undefined) return NOT_FOUND;
  if (!isUnpublished(item)) return refused(400, FROZEN_ADD);
  for (const resource of previous.resources) {
    if (!item.resources.includes(resource)) item.resources = [...item.resources, resource];
  }
  return ok(204);
}

// ---- listings: the ids that a caller sees, each with the form it is seen in

export type Seen = Record<string, 'draft' | 'published'>;

function seenBy(caller: Caller, items: readonly Item[]): Seen {
  return Object.fromEntries(
    items.flatMap((item): [string, 'draft' | 'published'][] => {
      if (item.draft !== undefined && caller === item.family.owner) return [[item.id, 'draft']];
      const isReadable = item.published !== undefined && mayRead(caller, item);
      return isReadable ? [[item.id, 'published']] : [];
    }),
  );
}

export function ownListing(world: World, person: Caller, kind: string): Seen {
  const own = allItems(world).filter(({ family }) => family.kind === kind && family.owner === person);
  return seenBy(
    person,
    own.filter((item) => lastOf(item.family) === item),
  );
}

export const draftResources = (caller: Caller, main: Item): Seen =>
  mayRead(caller, main) ? seenBy(caller, main.resources) : {};

export function contextResources(world: World, caller: Caller, main: Item): Seen {
  if (caller !== main.family.owner) return {};
  const managed = world.families.filter(({ managedBy }) => managedBy === main.family);
  const items = managed.flatMap((family) => [latestOf(family), lastOf(family)]);
  return seenBy(
    caller,
    items.filter((item) => item !== undefined),
  );
}

export function publishedResources(caller: Caller, main: Item): Seen {
  if (!mayRead(caller, main)) return {};
  const items = main.resources.filter(({ published }) => published !== undefined);
  return Object.fromEntries(
    items.filter((item) => mayRead(caller, item)).map((item) => [item.id, 'published']),
  );
}

export function versionListing(caller: Caller, item: Item): string[] {
  const readable = item.family.items.filter(
    (one) => readPublished(caller, { kind: item.family.kind, id: one.id, item: one }).status === 200,
  );
  return readable.map(({ id }) => id).reverse();
}

import {
  type Access,
  accessOf,
  accessRefusal,
  type Body,
  disablingProblems,
  type FileOptions,
  fileOptions,
  fileProblems,
  type Kind,
  keptMetadata,
  type Metadata,
  metadataProblems,
  OPEN,
  type Problem,
  previewProblems,
  problem,
  unknownFields,
} from './document-rules.ts';

/**
 * The lifecycle of resources and packages as specified by the API document, on plain objects in memory. Operations
 * return the expected answer and change the state accordingly.
 */
export type Person = 'ada' | 'ben';
export type Caller = Person | 'nobody';

export interface Content {
  metadata: Metadata;
  /** A new document has no problems. */
  isWritten: boolean;
  access: Access;
  files: FileOptions;
  doi: 'none' | 'reserved' | 'registered';
  oai: boolean;
}

export interface StoredFile {
  key: string;
  content?: string;
  isCompleted: boolean;
}

/** One version: what has an id. */
export interface Item {
  id: string;
  family: Family;
  index: number;
  draft?: Content;
  published?: Content;
  files: StoredFile[];
  /** Published with a package, not by a separate request. */
  isPart?: boolean;
  /** Of a package, in order of adding. */
  resources: Item[];
}

export type Permission = 'view' | 'preview' | 'edit';

/**
 * Opens all versions of an entity to the holders of its token, and the resources that a package manages with
 * it.
 */
export interface Link {
  id: string;
  token: string;
  permission: Permission;
}

/** All versions of one entity. */
export interface Family {
  kind: Kind;
  parentId: string;
  owner: Person;
  items: Item[];
  /** In the order of their making; what never had one has none. */
  links: Link[];
  managedBy?: Family;
  /** Once managed, and released. */
  wasManaged?: boolean;
}

export interface World {
  families: Family[];
}

/** The subject of a request: a path of one kind with some id in it. */
export interface Target {
  kind: Kind;
  id: string;
  item?: Item;
  /** The id is one that all versions share. */
  isParent?: boolean;
}

export interface Verdict {
  status: number;
  message?: string;
  problems?: Problem[];
  /** The content of the answer. */
  item?: Item;
  /** If two refusals apply, either may be returned. */
  orElse?: Verdict;
}

export const ok = (status: number, item?: Item): Verdict => ({
  status,
  ...(item === undefined ? {} : { item }),
});
export const refused = (status: number, message?: string, problems?: Problem[]): Verdict => ({
  status,
  ...(message === undefined ? {} : { message }),
  ...(problems === undefined ? {} : { problems }),
});
export const invalid = (problems: Problem[]) => refused(400, 'A validation error occurred.', problems);
export const NOT_FOUND = refused(404, 'Not found.');
export const UNKNOWN = refused(404, 'The persistent identifier does not exist.');
export const NOT_REGISTERED = refused(404, 'The persistent identifier is not registered.');
const NO_CREDENTIALS = refused(401, 'Authentication required.');
export const DENIED = refused(403, 'Permission denied.');

export const allItems = ({ families }: World): Item[] => families.flatMap(({ items }) => items);
export const latestOf = ({ items }: Family): Item | undefined =>
  items.findLast(({ published }) => published !== undefined);
export const lastOf = ({ items }: Family): Item | undefined => items.at(-1);
export const isUnpublished = ({ published }: Item): boolean => published === undefined;
export const packagesOf = (world: World, item: Item): Item[] =>
  allItems(world).filter(({ resources }) => resources.includes(item));

export function missing({ kind, item, isParent = false }: Target): Verdict | undefined {
  if (item === undefined) return isParent ? NOT_FOUND : UNKNOWN;
  return item.family.kind === kind ? undefined : NOT_FOUND;
}

/** Only the owner may edit an entity; a caller without credentials gets 401 first. */
function forbidden(caller: Caller, { family }: Item): Verdict | undefined {
  if (caller === 'nobody') return NO_CREDENTIALS;
  return caller === family.owner ? undefined : DENIED;
}

export type Found = { item: Item; draft: Content } | Verdict;
export const isVerdict = (found: object): found is Verdict => 'status' in found;

/** The draft, for an operation on it. */
export function draftFor(caller: Caller, target: Target): Found {
  const { item } = target;
  const gone = missing(target);
  if (caller === 'nobody') return NO_CREDENTIALS;
  if (gone !== undefined || item === undefined) return gone ?? UNKNOWN;
  const { draft } = item;
  return draft === undefined ? NOT_FOUND : (forbidden(caller, item) ?? { item, draft });
}

/** A published entity or any version, for an operation beside drafts. */
export function itemFor(caller: Caller, target: Target): { item: Item } | Verdict {
  if (caller === 'nobody') return NO_CREDENTIALS;
  const { item } = target;
  const gone = missing(target);
  if (gone !== undefined || item === undefined) return gone ?? UNKNOWN;
  return forbidden(caller, item) ?? { item };
}

// ---- reading

export function readDraft(caller: Caller, target: Target): Verdict {
  const found = draftFor(caller, target);
  return isVerdict(found) ? found : ok(200, found.item);
}

export function readPublished(caller: Caller, target: Target, what: 'record' | 'files' = 'record'): Verdict {
  const gone = missing(target);
  if (gone !== undefined || target.item === undefined) return gone ?? UNKNOWN;
  const { published, family } = target.item;
  if (published === undefined) return what === 'files' ? NOT_FOUND : NOT_REGISTERED;
  const isOpen = published.access[what] === 'public';
  return isOpen || caller === family.owner ? ok(200, target.item) : DENIED;
}

export function readLatest(caller: Caller, target: Target): Verdict {
  const gone = missing(target);
  if (gone !== undefined || target.item === undefined) return gone ?? UNKNOWN;
  if (isUnpublished(target.item)) return NOT_REGISTERED;
  const item = latestOf(target.item.family);
  return item === undefined ? NOT_REGISTERED : readPublished(caller, { ...target, id: item.id, item });
}

// ---- drafts

export function create(world: World, caller: Caller, kind: Kind, body: Body): Verdict {
  if (caller === 'nobody') return NO_CREDENTIALS;
  const refusal = accessRefusal(body);
  if (refusal.length > 0) return invalid(refusal);
  const family: Family = { kind, parentId: '', owner: caller, items: [], links: [] };
  const files = fileOptions(body, true, 0);
  const draft: Content = { ...written(body, kind, OPEN), files, doi: 'none', oai: false };
  const item: Item = { id: '', family, index: 1, draft, files: [], resources: [] };
  family.items.push(item);
  world.families.push(family);
  const problems = [...bodyProblems(body, draft, kind), ...previewProblems(files.preview, [])];
  return { status: 201, item, problems };
}

function written({ metadata, ...body }: Body, kind: Kind, before: Access) {
  return {
    metadata: keptMetadata(metadata ?? {}, kind),
    isWritten: metadata !== undefined,
    access: accessOf(body, before),
  };
}

/** All problems in the answer to a save, except those of files. */
function bodyProblems({ metadata = {} }: Body, draft: Content, kind: Kind): Problem[] {
  return [...contentProblems(draft, kind), ...unknownFields(metadata)];
}

/** The problems in every read of the draft. */
export function contentProblems({ metadata, isWritten, access }: Content, kind: Kind): Problem[] {
  return [...(isWritten ? metadataProblems(metadata, kind) : []), ...access.problems];
}

const keysOf = ({ files }: Item): string[] => files.map(({ key }) => key);

export function update(caller: Caller, target: Target, body: Body, knowsRevision: boolean): Verdict {
  if (caller === 'nobody') return NO_CREDENTIALS;
  const { item } = target;
  const gone = missing(target);
  if (gone !== undefined || item === undefined) return gone ?? UNKNOWN;
  const { draft, family } = item;
  if (draft === undefined) return NOT_FOUND;
  if (!knowsRevision) return refused(412);
  const denied = forbidden(caller, item);
  if (denied !== undefined) return denied;
  const refusal = accessRefusal(body);
  if (refusal.length > 0) return invalid(refusal);

  const files = fileOptions(body, draft.files.enabled, item.files.length);
  item.draft = { ...draft, ...written(body, family.kind, draft.access), files };
  const problems = [
    ...bodyProblems(body, item.draft, family.kind),
    ...disablingProblems(body, item.files.length),
    ...fileProblems(files, keysOf(item)),
  ];
  const { access } = item.draft;
  for (const resource of item.resources) closeWith(item, resource, access);
  return { status: 200, item, problems };
}

/** A restricted package closes the drafts that it manages. */
export function closeWith(main: Item, resource: Item, access: Access): void {
  if (access.record !== 'restricted' || resource.family.managedBy !== main.family) return;
  if (resource.draft === undefined || !isUnpublished(resource)) return;
  resource.draft = {
    ...resource.draft,
    access: { record: 'restricted', files: 'restricted', embargo: access.embargo, problems: [] },
  };
}

export function publish(caller: Caller, target: Target): Verdict {
  if (
    target.item?.draft === undefined &&
    target.item?.published !== undefined &&
    missing(target) === undefined
  ) {
    // The answer may have been lost: the same caller gets it again.
    const denied = forbidden(caller, target.item);
    if (denied === undefined && target.item.isPart === true) return NOT_FOUND;
    return denied === undefined ? ok(202, target.item) : { ...denied, orElse: NOT_FOUND };
  }
  const found = draftFor(caller, target);
  if (isVerdict(found)) return found;
  const { item } = found;
  const parts = item.resources.filter(isUnpublished);
  const problems = [
    ...publishProblems(item),
    ...parts.flatMap((part) => publishProblems(part).map((one) => ({ ...one, record: part.id }))),
  ];
  if (problems.length > 0) return invalid(problems);
  for (const one of [item, ...parts]) {
    show(one);
    one.isPart = one !== item;
  }
  return ok(202, item);
}

/** The problems that publishing would find, by entity; nothing changes. */
export function validate(caller: Caller, target: Target): Verdict & { byRecord?: [string, Problem[]][] } {
  const found = draftFor(caller, target);
  if (isVerdict(found)) return found;
  const { item } = found;
  const all = [item, ...item.resources.filter(isUnpublished)];
  const byRecord = all.map((one): [string, Problem[]] => [one.id, publishProblems(one)]);
  return { ...ok(200), byRecord: byRecord.filter(([, problems]) => problems.length > 0) };
}

export function publishProblems({ draft, family, files }: Item): Problem[] {
  if (draft === undefined) return [];
  const isPending = files.some(({ isCompleted }) => !isCompleted);
  const needsPublisher = draft.doi !== 'none' && draft.metadata['publisher'] === undefined;
  return [
    ...metadataProblems(draft.metadata, family.kind),
    ...draft.access.problems,
    ...(needsPublisher
      ? [problem('metadata.publisher', 'Missing publisher field required for DOI registration.')]
      : []),
    ...fileProblems(
      draft.files,
      files.map(({ key }) => key),
    ),
    ...(isPending
      ? [problem('files', 'One or more files have not completed their transfer, please wait.')]
      : []),
  ];
}

function show(item: Item): void {
  if (item.draft === undefined) return;
  const doi = item.draft.doi === 'none' ? 'none' : 'registered';
  item.published = { ...item.draft, doi, oai: true };
  delete item.draft;
}

export function edit(caller: Caller, target: Target): Verdict {
  const found = itemFor(caller, target);
  if (isVerdict(found)) return found;
  const { item } = found;
  if (item.draft === undefined && item.published !== undefined) {
    item.draft = { ...item.published, isWritten: false };
  }
  return ok(201, item);
}

export function discard(world: World, caller: Caller, target: Target): Verdict {
  const found = draftFor(caller, target);
  if (isVerdict(found)) return found;
  const { item } = found;
  delete item.draft;
  if (isUnpublished(item)) remove(world, item);
  return ok(204);
}

function remove(world: World, item: Item): void {
  const { family } = item;
  family.items = family.items.filter((one) => one !== item);
  for (const main of packagesOf(world, item)) leave(main, item);
  if (family.items.length > 0) return;
  world.families = world.families.filter((one) => one !== family);
  for (const one of world.families) if (one.managedBy === family) letGo(one);
}

export function leave(main: Item, resource: Item): void {
  main.resources = main.resources.filter((one) => one !== resource);
}

export function letGo(family: Family): void {
  delete family.managedBy;
  family.wasManaged = true;
}

export function newVersion(caller: Caller, target: Target): Verdict {
  const found = itemFor(caller, target);
  const { item } = target;
  if (caller !== 'nobody' && item !== undefined && missing(target) === undefined && isUnpublished(item)) {
    return NOT_REGISTERED;
  }
  if (isVerdict(found)) return found;
  if (item === undefined) return UNKNOWN;
  const { family } = item;
  const last = lastOf(family);
  const published = latestOf(family)?.published;
  if (last === undefined || published === undefined || isUnpublished(last))
    return { status: 201, ...(last ? { item: last } : {}) };
  const { publication_date: _date, version, ...metadata } = published.metadata as Record<string, unknown>;
  const keepsVersion = family.kind === 'packages' && version !== undefined;
  const draft: Content = {
    metadata: { ...metadata, ...(keepsVersion ? { version } : {}) },
    isWritten: false,
    access: published.access,
    files: { enabled: published.files.enabled, order: [] },
    doi: 'none',
    oai: false,
  };
  const next: Item = { id: '', family, index: last.index + 1, draft, files: [], resources: [] };
  family.items.push(next);
  return ok(201, next);
}

// ---- pids

export function reserveDoi(caller: Caller, target: Target): Verdict {
  const found = draftFor(caller, target);
  if (isVerdict(found)) return found;
  if (found.draft.doi !== 'none') return invalid([problem('pids.doi', 'A PID already exists for type doi')]);
  found.draft.doi = 'reserved';
  return ok(201, found.item);
}

export function discardDoi(caller: Caller, target: Target): Verdict {
  const found = draftFor(caller, target);
  if (isVerdict(found)) return found;
  if (found.draft.doi === 'none') return UNKNOWN;
  if (found.draft.doi === 'registered') return refused(400);
  found.draft.doi = 'none';
  return ok(200, found.item);
}

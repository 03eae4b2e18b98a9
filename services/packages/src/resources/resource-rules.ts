/** The facts about a resource that decide whether a package version may add or remove it. */
export interface Resource {
  readonly id: string;
  readonly isPublished: boolean;
  /** The parent of the package that manages it; empty if no package manages it. */
  readonly managedBy: string;
}

/** The current package version. */
export interface Holder {
  readonly parentId: string;
  /** True for the draft of a published version, whose resources cannot change. */
  readonly isFrozen: boolean;
  readonly resourceIds: readonly string[];
}

export interface ResourceError {
  readonly record: string;
  readonly message: string;
}

export interface Judgement {
  readonly accepted: readonly string[];
  readonly errors: readonly ResourceError[];
}

export const CANNOT_BE_ADDED = "This resource can't be associated with the package.";
const CANNOT_BE_REMOVED = "This resource can't be removed from the package.";
const FOREIGN_DRAFT = "This record is a draft and can't be linked to the package as a resource.";

/** Accepts published resources of any owner, and drafts that the package manages. Each resource once. */
export function judgeAdditions(holder: Holder, resources: readonly Resource[]): Judgement {
  return judge(resources, (resource) => {
    if (holder.isFrozen) return CANNOT_BE_ADDED;
    return isForeignDraft(holder, resource) ? FOREIGN_DRAFT : undefined;
  });
}

/** Every resource of the version may be removed, also a draft that the package no longer manages. */
export function judgeRemovals(holder: Holder, resources: readonly Resource[]): Judgement {
  return judge(resources, (resource) => {
    if (holder.isFrozen) return CANNOT_BE_REMOVED;
    const isOutside = !holder.resourceIds.includes(resource.id);
    return isOutside && isForeignDraft(holder, resource) ? FOREIGN_DRAFT : undefined;
  });
}

function isForeignDraft({ parentId }: Holder, { isPublished, managedBy }: Resource): boolean {
  return !isPublished && managedBy !== parentId;
}

function judge(
  resources: readonly Resource[],
  problemOf: (resource: Resource) => string | undefined,
): Judgement {
  const unique = [...new Map(resources.map((resource) => [resource.id, resource])).values()];
  const judged = unique.map((resource) => ({ record: resource.id, message: problemOf(resource) }));
  return {
    accepted: judged.filter(({ message }) => message === undefined).map(({ record }) => record),
    errors: judged.flatMap(({ record, message }) => (message === undefined ? [] : [{ record, message }])),
  };
}

// One spelling only, and no query: what else leads to the same document is answered the long way.
const ENTITY_PATH = /^\/api\/(?:records|packages)\/[0-9a-z]{5}-[0-9a-z]{5}$/;

/** Whether the target of a request is a published entity and nothing more. */
export function isEntityPath(target: string | undefined): target is string {
  return target !== undefined && ENTITY_PATH.test(target);
}

/** The row of the route table that answers such a target. */
export function entityRoute(target: string): string {
  return target.replace(/[^/]*$/, ':id');
}

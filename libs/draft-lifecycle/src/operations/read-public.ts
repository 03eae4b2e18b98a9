import { anonymous } from '@kr/caller';
import { getEntity, type LifecycleContext, notRegistered } from '../context/context.ts';
import { may } from '../model/access.ts';
import type { Entity } from '../model/entity.ts';
import { loadVersionHeads, loadVersionIds } from '../store/entities.ts';
import { entityDocument } from './documents.ts';

const NOBODY = anonymous('');
/** Older versions of an entity are ignored. */
const MAX_VERSIONS = 10_000;

/** An entity as anonymous readers see it now. */
export type PublicVersion =
  | { isPublic: true; id: string; parentId: string; document: Readonly<Record<string, unknown>> }
  /** Restricted or removed; `until` is the end of an embargo. */
  | { isPublic: false; until?: Date };

/**
 * The public form of a version, or of the latest public version of a parent.
 *
 * @throws ServiceError
 *   - `not_found`: no such entity
 *   - `unavailable`: a version is staged and the coordinator cannot be reached
 */
export async function readPublic(
  context: LifecycleContext,
  id: string,
  which: 'version' | 'latest',
): Promise<PublicVersion> {
  const entity = await getEntity(context, which === 'version' ? id : await latestId(context, id));
  const { published } = entity;
  if (published === null || published.removal !== undefined) return { isPublic: false };
  if (!may(NOBODY, 'read', entity, published, context.now())) {
    const until = embargoEnd(entity);
    return { isPublic: false, ...(until === undefined ? {} : { until }) };
  }
  const { json } = await entityDocument(context, { entity, form: 'published' }, NOBODY);
  const document = JSON.parse(Buffer.from(json ?? '').toString()) as Record<string, unknown>;
  return { isPublic: true, id: entity.id, parentId: entity.parent.id, document };
}

/** The latest version that anybody may read, or else the latest one. */
async function latestId(context: LifecycleContext, parentId: string): Promise<string> {
  const heads = await loadVersionHeads(context.database, parentId, MAX_VERSIONS);
  const now = context.now();
  const owned = { parent: { id: parentId, ownerId: '', managedBy: null } };
  const shown = heads.find(({ access }) => may(NOBODY, 'read', owned, { document: { access } }, now));
  const id = (shown ?? heads[0])?.id ?? (await loadVersionIds(context.database, parentId))[0];
  if (id === undefined) throw notRegistered();
  return id;
}

function embargoEnd({ published }: Entity): Date | undefined {
  const { embargo } = published?.document.access ?? {};
  return embargo?.active && embargo.until ? new Date(`${embargo.until.slice(0, 10)}T00:00:00Z`) : undefined;
}

import type { ReceivedEvent } from '@kr/event-bus';
import type { LifecycleContext } from '../context/context.ts';
import { transact } from '../context/context.ts';
import { appendChangedEvents } from './revisions.ts';

/** The events of access links, for a consumer. */
export const LINK_SUBJECTS = [
  'knowledge.access-links.link.created',
  'knowledge.access-links.link.revoked',
] as const;

export type LinkEvent = ReceivedEvent<(typeof LINK_SUBJECTS)[number]>;

/**
 * Consumes link events: updates `parent.access.links` of this service's parents. Idempotent and independent of order.
 * Change numbers stay, so that sharing a draft does not conflict with its editing.
 */
export function mirrorAccessLinks(context: LifecycleContext) {
  return async (events: readonly LinkEvent[]): Promise<void> => {
    await writeLinks(context, newest(events));
  };
}

/** The links of these parents that are not revoked, of each parent the oldest first. */
export type ListParentLinks = (
  parentIds: readonly string[],
) => Promise<readonly { id: string; parentId: string; revision: string | number }[]>;

/** As `listParentLinks` of the access-links service allows. */
const PARENTS_AT_ONCE = 100;

/** The same for all parents, when events were lost. @throws ServiceError `unavailable`: the access-links service is away */
export async function restoreLinks(
  context: LifecycleContext,
  listParentLinks: ListParentLinks,
): Promise<void> {
  const { database } = context;
  for (let afterId = ''; ; ) {
    const parents = await database.$queryRawUnsafe<{ id: string }[]>(
      'select id from parent where id > $1 order by id limit $2::int',
      afterId,
      PARENTS_AT_ONCE,
    );
    const last = parents.at(-1);
    if (last === undefined) return;
    const ids = parents.map(({ id }) => id);
    // Read first: a link that is known here and not listed then is revoked, and not a new one.
    const known = await database.$queryRawUnsafe<{ link_id: string; parent_id: string; revision: bigint }[]>(
      'select link_id, parent_id, revision from parent_link where parent_id = any($1::text[]) and not is_revoked',
      ids,
    );
    const listed = await listParentLinks(ids);
    const listedIds = new Set(listed.map(({ id }) => id));
    const revoked = known.filter(({ link_id }) => !listedIds.has(link_id));
    await writeLinks(context, [
      ...listed.map(({ id, parentId, revision }) => ({
        link_id: id,
        parent_id: parentId,
        revision: Number(revision),
        is_revoked: false,
      })),
      ...revoked.map((link) => ({ ...link, revision: Number(link.revision) + 1, is_revoked: true })),
    ]);
    afterId = last.id;
  }
}

async function writeLinks(context: LifecycleContext, links: readonly LinkUpdate[]): Promise<void> {
  const parentIds = links.map(({ parent_id }) => parent_id);
  if (parentIds.length === 0) return;
  await transact(context, async (tx) => {
    await tx.$queryRawUnsafe(
      'select id from parent where id = any($1::text[]) order by id for update',
      parentIds,
    );
    await tx.$executeRawUnsafe(WRITE_LINKS, JSON.stringify(links));
    const changed = await tx.$queryRawUnsafe<{ id: string }[]>(COPY_LINKS, parentIds);
    await appendChangedEvents(
      context,
      tx,
      changed.map(({ id }) => id),
    );
  });
}

const WRITE_LINKS = `
  insert into parent_link (link_id, parent_id, revision, is_revoked)
  select link_id, parent_id, revision, is_revoked
  from rows from (
    jsonb_to_recordset($1::jsonb) as (link_id text, parent_id text, revision bigint, is_revoked boolean)
  ) with ordinality as link(link_id, parent_id, revision, is_revoked, n)
  where exists (select from parent where id = link.parent_id)
  order by n
  on conflict (link_id) do update set revision = excluded.revision, is_revoked = excluded.is_revoked
  where parent_link.revision < excluded.revision`;

const COPY_LINKS = `
  with current as (
    select p.id, coalesce(array_agg(l.link_id order by l.position) filter (where not l.is_revoked), '{}') as link_ids
    from parent p left join parent_link l on l.parent_id = p.id
    where p.id = any($1::text[]) group by p.id
  ), changed as (
    update parent p set link_ids = current.link_ids from current
    where p.id = current.id and p.link_ids <> current.link_ids
    returning p.id
  )
  select v.id from version v join changed on changed.id = v.parent_id`;

interface LinkUpdate {
  link_id: string;
  parent_id: string;
  revision: number;
  is_revoked: boolean;
}

/** One row for each link: one statement cannot change a row twice. */
function newest(events: readonly LinkEvent[]): LinkUpdate[] {
  const byId = new Map<string, LinkUpdate>();
  for (const { subject, payload, revision } of events) {
    const former = byId.get(payload.id);
    if (former !== undefined && former.revision >= revision) continue;
    const is_revoked = subject === 'knowledge.access-links.link.revoked';
    byId.set(payload.id, { link_id: payload.id, parent_id: payload.parentId, revision, is_revoked });
  }
  return [...byId.values()];
}

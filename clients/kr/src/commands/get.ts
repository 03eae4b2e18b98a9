import { type Entity, findEntity, kindOf, linkOf, referenceIn } from '../api/entity.ts';
import type { CommandContext } from './context.ts';

export interface GetOptions {
  draft: boolean;
  json: boolean;
}

/** `kr get ID`: one resource or package. */
export async function get(
  { terminal, connect }: CommandContext,
  id: string,
  options: GetOptions,
): Promise<void> {
  const reference = referenceIn(id);
  const form = options.draft || reference.isDraft ? 'draft' : 'published';
  const entity = await findEntity(await connect(reference.link), reference, form);
  if (options.json) terminal.print(JSON.stringify(entity, null, 2));
  else for (const line of toLines(entity)) terminal.print(line);
}

function toLines(entity: Entity): string[] {
  const { id, metadata, pids, access, versions, is_published: isPublished, parent } = entity;
  const rows: [string, string | number | undefined][] = [
    ['title', metadata.title],
    ['id', id],
    ['kind', kindOf(entity)],
    ['type', metadata.resource_type?.id],
    ['state', isPublished ? 'published' : 'draft'],
    ['date', metadata.publication_date],
    ['version', versions?.index],
    ['parent', parent.id],
    ['access', access?.status],
    ['doi', pids?.doi?.identifier],
    ['link', linkOf(entity, 'self')],
  ];
  return rows.filter(([, value]) => value !== undefined).map(([name, value]) => `${name.padEnd(8)}${value}`);
}

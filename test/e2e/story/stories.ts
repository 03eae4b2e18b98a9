import type { Entity, FileEntry, FilesListing } from './answers.ts';
import { packageDocument, recordDocument } from './documents.ts';
import type { HttpClient } from './http-client.ts';

/** The address of a link; a missing one fails the story that follows it. */
export function link({ links }: { links: Record<string, string> }, name: string): string {
  const url = links[name];
  if (url === undefined)
    throw new Error(`the answer has no link ${name}, only ${Object.keys(links).join(', ')}`);
  return url;
}

/** The three steps of an upload, each by the link that the step before gave. */
export async function upload(
  client: HttpClient,
  draft: Entity,
  key: string,
  bytes: Uint8Array,
): Promise<FileEntry> {
  const { entries } = await client.sure<FilesListing>('POST', link(draft, 'files'), { json: [{ key }] });
  const entry = entries.find((one) => one.key === key);
  if (entry === undefined) throw new Error(`${key} was not started`);
  await client.sure('PUT', link(entry, 'content'), { bytes });
  return client.sure<FileEntry>('POST', link(entry, 'commit'));
}

export function publish(client: HttpClient, draft: Entity): Promise<Entity> {
  return client.sure<Entity>('POST', link(draft, 'publish'));
}

export async function publishedRecord(client: HttpClient, title: string): Promise<Entity> {
  return publish(client, await client.sure<Entity>('POST', '/records', { json: recordDocument(title) }));
}

export interface PackageOfResources {
  main: Entity;
  resources: Entity[];
}

/** A package draft with resource drafts in its context and its version, ready to be published. */
export async function packageOfResources(
  client: HttpClient,
  title: string,
  count: number,
): Promise<PackageOfResources> {
  const main = await client.sure<Entity>('POST', '/packages', { json: packageDocument(title) });
  const resources: Entity[] = [];
  for (let number = 1; number <= count; number += 1) {
    const json = recordDocument(`${title}, part ${number}`);
    resources.push(await client.sure<Entity>('POST', '/records', { json }));
  }
  await relate(client, main, resources);
  return { main, resources };
}

/** Brings resources into the package's context and its draft version. */
export async function relate(client: HttpClient, main: Entity, resources: readonly Entity[]): Promise<void> {
  const ids = resources.map(({ id }) => ({ id }));
  await client.sure('POST', link(main, 'context_associate'), { json: { records: ids } });
  const { errors } = await client.sure<{ errors: unknown[] }>('POST', link(main, 'resources'), {
    json: { resources: ids },
  });
  if (errors.length > 0) throw new Error(`resources were not added: ${JSON.stringify(errors)}`);
}

import { createHash, randomBytes } from 'node:crypto';
import type { Entity, FilesListing } from '../../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../../e2e/story/documents.ts';
import type { HttpClient } from '../../e2e/story/http-client.ts';
import { link, type PackageOfResources, relate, upload } from '../../e2e/story/stories.ts';

/** A package draft, every resource of which has one file. */
export interface PackageWithFiles extends PackageOfResources {
  /** `md5:…` of each resource's file, by the resource's id. */
  checksums: ReadonlyMap<string, string>;
}

const ABREAST = 8;

/** Without a title the first resource may be kept as a draft, but not be published. */
export async function packageWithFiles(
  author: HttpClient,
  title: string,
  count: number,
  { isSound }: { isSound: boolean },
): Promise<PackageWithFiles> {
  const main = await author.sure<Entity>('POST', '/packages', { json: packageDocument(title) });
  const checksums = new Map<string, string>();
  const resources: Entity[] = [];
  const numbers = Array.from({ length: count }, (_, index) => index).values();
  const makeSome = async () => {
    for (const number of numbers) {
      const flaw = isSound || number > 0 ? {} : { metadata: { title: undefined } };
      const json = recordDocument(`${title}, part ${number + 1}`, { withFiles: true, ...flaw });
      const draft = await author.sure<Entity>('POST', '/records', { json });
      const bytes = randomBytes(1_000 + number);
      await upload(author, draft, 'data.bin', bytes);
      checksums.set(draft.id, md5Of(bytes));
      resources.push(draft);
    }
  };
  await Promise.all(Array.from({ length: Math.min(ABREAST, count) }, makeSome));
  await relate(author, main, resources);
  return { main, resources, checksums };
}

export function md5Of(bytes: Uint8Array): string {
  return `md5:${createHash('md5').update(bytes).digest('hex')}`;
}

/** The resources whose file cannot be had by anybody, or not as it was sent. */
export async function lostFiles(
  reader: HttpClient,
  { resources, checksums }: PackageWithFiles,
): Promise<string[]> {
  const lost: string[] = [];
  for (const { id } of resources) {
    const { entries } = await reader.sure<FilesListing>('GET', `/records/${id}/files`);
    const [entry] = entries;
    const bytes = entry && (await reader.call('GET', link(entry, 'content'))).bytes;
    const isRight =
      bytes !== undefined && entry?.checksum === checksums.get(id) && md5Of(bytes) === entry?.checksum;
    if (!isRight) lost.push(id);
  }
  return lost;
}

/** Whether strangers see all of a package, in both orders, or none of it; undefined while that is unknown. */
export async function sightOf(
  stranger: HttpClient,
  { main, resources }: PackageOfResources,
): Promise<'published' | 'draft' | undefined> {
  const targets = [`/packages/${main.id}`, ...resources.map(({ id }) => `/records/${id}`)];
  const statuses = new Set<number>();
  for (const target of [...targets, ...targets.toReversed()]) {
    statuses.add((await stranger.call('GET', target)).status);
    if (statuses.size > 1) return undefined;
  }
  const [status] = statuses;
  if (status === 200) return 'published';
  return status === 404 ? 'draft' : undefined;
}

import type { JsonClient } from '../json-client.ts';

/** Fields of every answer about an entity. */
export interface EntityAnswer {
  id: string;
}

/** A record as a researcher would describe it: about 2.7 KB as an answer. */
export function recordBody(title: string, further: Record<string, unknown> = {}, hasFiles = false): unknown {
  return {
    access: { record: 'public', files: 'public' },
    files: { enabled: hasFiles },
    metadata: {
      title,
      publication_date: '2026-05-04',
      publisher: 'River Observatory',
      resource_type: { id: 'dataset' },
      creators: ['Okafor', 'Lindqvist', 'Tanaka'].map((name) => ({
        person_or_org: { type: 'personal', family_name: name, given_name: 'Ada' },
        affiliations: [{ name: 'River Observatory' }],
      })),
      description: `<p>${'Daily water levels of gauges along the lower river, in centimetres. '.repeat(6)}</p>`,
      subjects: ['floods', 'rivers', 'gauges'].map((subject) => ({ subject })),
      languages: [{ id: 'eng' }],
      rights: [{ id: 'cc-by-4.0' }],
      ...further,
    },
  };
}

export async function createDraft(
  repository: JsonClient,
  title: string,
  further: Record<string, unknown> = {},
): Promise<EntityAnswer> {
  return (await repository.send('POST', '/api/records', recordBody(title, further))) as EntityAnswer;
}

export async function publishRecord(repository: JsonClient, title: string): Promise<EntityAnswer> {
  const { id } = await createDraft(repository, title);
  return (await repository.send('POST', `/api/records/${id}/draft/actions/publish`)) as EntityAnswer;
}

/** Publishes a record with one file; returns the path of its content. */
export async function publishFile(repository: JsonClient, text: string): Promise<string> {
  const body = recordBody('A file to read', {}, true);
  const { id } = (await repository.send('POST', '/api/records', body)) as EntityAnswer;
  const draft = `/api/records/${id}/draft`;
  await repository.send('POST', `${draft}/files`, [{ key: 'levels.csv' }]);
  await repository.drain('PUT', `${draft}/files/levels.csv/content`, Buffer.from(text));
  await repository.send('POST', `${draft}/files/levels.csv/commit`);
  await repository.send('POST', `${draft}/actions/publish`);
  return `/api/records/${id}/files/levels.csv/content`;
}

/** Limits of one request, and the number of drafts written at once. */
const IDS_AT_ONCE = 100;
const WRITERS = 8;

/** A package draft that holds `size` resource drafts, ready to be published. */
export async function createPackage(
  repository: JsonClient,
  size: number,
  further: Record<string, unknown> = {},
): Promise<EntityAnswer & { resources: EntityAnswer[] }> {
  const created = (await repository.send(
    'POST',
    '/api/packages',
    recordBody(`Package of ${size}`, further),
  )) as EntityAnswer;
  const ids: EntityAnswer[] = [];
  await manyAtOnce(size, WRITERS, async (index) => {
    const { id } = await createDraft(repository, `Resource ${index} of ${created.id}`, further);
    ids.push({ id });
  });
  for (let start = 0; start < size; start += IDS_AT_ONCE) {
    const some = ids.slice(start, start + IDS_AT_ONCE);
    const path = `/api/packages/${created.id}`;
    await repository.send('POST', `${path}/context/actions/associate`, { records: some });
    await repository.send('POST', `${path}/draft/resources`, { resources: some });
  }
  return { id: created.id, resources: ids };
}

/** Package drafts of `size` resources each; the ids of the packages. */
export async function createPackages(repository: JsonClient, count: number, size: number): Promise<string[]> {
  const ids: string[] = [];
  const atOnce = Math.max(1, Math.floor(WRITERS / Math.max(1, size)));
  await manyAtOnce(count, atOnce, async () => {
    ids.push((await createPackage(repository, size)).id);
  });
  return ids;
}

/** Repeats the work, with a number of concurrent executions. */
export async function manyAtOnce(
  count: number,
  atOnce: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

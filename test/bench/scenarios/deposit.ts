import type { JsonClient } from '../json-client.ts';

/** What every answer about an entity has. */
export interface EntityAnswer {
  id: string;
}

/** A record as a researcher would describe it: about 2.7 KB as an answer. */
export function recordBody(title: string): unknown {
  return {
    access: { record: 'public', files: 'public' },
    files: { enabled: false },
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
    },
  };
}

export async function createDraft(repository: JsonClient, title: string): Promise<EntityAnswer> {
  return (await repository.send('POST', '/api/records', recordBody(title))) as EntityAnswer;
}

export async function publishRecord(repository: JsonClient, title: string): Promise<EntityAnswer> {
  const { id } = await createDraft(repository, title);
  return (await repository.send('POST', `/api/records/${id}/draft/actions/publish`)) as EntityAnswer;
}

/** A package draft that holds `size` resource drafts, ready to be published. */
export async function createPackage(repository: JsonClient, size: number): Promise<EntityAnswer> {
  const created = (await repository.send(
    'POST',
    '/api/packages',
    recordBody(`Package of ${size}`),
  )) as EntityAnswer;
  const drafts = await Promise.all(
    Array.from({ length: size }, (_, index) => createDraft(repository, `Resource ${index} of ${created.id}`)),
  );
  const ids = drafts.map(({ id }) => ({ id }));
  await repository.send('POST', `/api/packages/${created.id}/context/actions/associate`, { records: ids });
  await repository.send('POST', `/api/packages/${created.id}/draft/resources`, { resources: ids });
  return created;
}

// Create → upload → publish → search → cursor with a client that openapi-typescript and openapi-fetch make of the description.
import createClient from 'openapi-fetch';
import type { components, paths } from './api.d.ts';

const [baseUrl = '', token = ''] = process.argv.slice(2);
const client = createClient<paths, 'application/json'>({
  baseUrl,
  headers: { Authorization: `Bearer ${token}` },
});

/** The data of an answer; an error ends the program with its message. */
async function answered<Data>(
  answer: Promise<{ data?: Data; error?: components['schemas']['Error'] }>,
): Promise<Data> {
  const { data, error } = await answer;
  if (data === undefined) throw new Error(`${error?.status} ${error?.message}`);
  return data;
}

async function deposit(title: string): Promise<components['schemas']['PublishedEntity']> {
  const body: components['schemas']['Draft'] = {
    files: { enabled: true },
    metadata: {
      title,
      resource_type: { id: 'dataset' },
      publication_date: '2026-11-23',
      creators: [{ person_or_org: { type: 'personal', family_name: 'Popescu', given_name: 'Ana' } }],
    },
  };
  const { id } = await answered(client.POST('/api/records', { body }));
  const key = 'levels.csv';
  await answered(client.POST('/api/records/{id}/draft/files', { params: { path: { id } }, body: [{ key }] }));
  await answered(
    client.PUT('/api/records/{id}/draft/files/{key}/content', {
      params: { path: { id, key } },
      body: 'date,level\n2026-11-23,3.2\n',
      bodySerializer: (bytes) => bytes,
      headers: { 'Content-Type': 'application/octet-stream' },
    }),
  );
  const file = await answered(
    client.POST('/api/records/{id}/draft/files/{key}/commit', { params: { path: { id, key } } }),
  );
  if (file.status !== 'completed') throw new Error(`the file is ${file.status}`);
  return answered(
    client.POST('/api/records/{id}/draft/actions/publish', {
      params: { path: { id }, query: { wait_for_index: true } },
    }),
  );
}

const titles = ['Gauge of Tulcea', 'Gauge of Sulina', 'Gauge of Braila'];
const deposited: string[] = [];
for (const title of titles) {
  const { id, metadata, pids } = await deposit(title);
  const author: string | undefined = metadata.creators[0]?.person_or_org.family_name;
  const oai: string | undefined = pids?.oai?.identifier;
  if (metadata.title !== title || author !== 'Popescu' || oai === undefined)
    throw new Error(`published: ${title}`);
  deposited.push(id);
}

const listing = await answered(
  client.GET('/api/search', { params: { query: { q: 'gauge', resource_type: ['dataset'] } } }),
);
const bucket = listing.aggregations['resource_type']?.buckets.find(({ key }) => key === 'dataset');
if (listing.hits.total !== titles.length || bucket?.is_selected !== true) throw new Error('search');

const found: string[] = [];
let cursor: string | null = '*';
while (cursor !== null) {
  const page: components['schemas']['PublishedListing'] = await answered(
    client.GET('/api/search', { params: { query: { q: 'gauge', sort: 'oldest', size: 2, cursor } } }),
  );
  found.push(...page.hits.hits.map(({ id }) => id));
  const next: string | undefined = page.links?.['next'];
  cursor = next === undefined ? null : new URL(next).searchParams.get('cursor');
}
if (found.join() !== deposited.join()) throw new Error(`${found} instead of ${deposited}`);

const { error } = await client.GET('/api/records/{id}', { params: { path: { id: '00000-00000' } } });
if (error?.status !== 404) throw new Error('an error is typed and returned');

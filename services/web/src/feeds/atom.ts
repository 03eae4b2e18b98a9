import { escapeXml, instantOf, kindOf, plainText, titleOf } from '@kr/formats';
import type { PageContext } from '../html/layout.ts';
import { apiQuery } from '../pages/search-page.ts';
import { displayName } from '../parts/people.ts';

const SIZE = '50';
const EPOCH = '1970-01-01T00:00:00Z';

/** GET /feed.atom: the newest results of a search (RFC 4287). */
export async function atomFeed({ repository, reader, query, siteName }: PageContext): Promise<string> {
  const passed = apiQuery(query);
  passed.set('size', SIZE);
  passed.set('sort', 'newest');
  passed.delete('page');
  const { hits } = (await repository.search(passed)).hits;
  const search = new URLSearchParams([...query].filter(([name]) => name !== 'token')).toString();
  const suffix = search === '' ? '' : `?${search}`;
  const updated = hits
    .map((hit) => instantOf(hit.updated))
    .toSorted()
    .at(-1);
  const entries = hits.map((hit) => {
    const address = hit.links['self_html'] ?? '';
    const authors = (hit.metadata.creators ?? []).map(({ person_or_org }) => displayName(person_or_org));
    return `<entry>
<id>${escapeXml(address)}</id>
<title>${escapeXml(titleOf(hit))}</title>
<link rel="alternate" type="text/html" href="${escapeXml(address)}"/>
<published>${instantOf(hit.created)}</published>
<updated>${instantOf(hit.updated)}</updated>
${(authors.length === 0 ? [siteName] : authors).map((name) => `<author><name>${escapeXml(name)}</name></author>`).join('')}
<category term="${kindOf(hit)}"/>
<summary>${escapeXml(plainText(hit.metadata.description ?? '').slice(0, 1_000))}</summary>
</entry>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>${escapeXml(`${reader.baseUrl}/feed.atom${suffix}`)}</id>
<title>${escapeXml([query.get('q'), siteName].filter(Boolean).join(' – '))}</title>
<link rel="self" type="application/atom+xml" href="${escapeXml(`${reader.baseUrl}/feed.atom${suffix}`)}"/>
<link rel="alternate" type="text/html" href="${escapeXml(`${reader.baseUrl}/search${suffix}`)}"/>
<updated>${updated ?? EPOCH}</updated>
${entries.join('\n')}
</feed>
`;
}

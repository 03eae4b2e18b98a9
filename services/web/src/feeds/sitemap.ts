import { ApiError } from '../api/repository.ts';
import type { PageContext } from '../html/layout.ts';
import { instantOf, xml } from './atom.ts';

/** Pages in one sitemap; sitemaps.org allows 50,000. */
const MONTHS = 12;
const PAGE = '1000';
const MOST_PAGES = 50;

/** GET /sitemap.xml: one sitemap for each month with publications (sitemaps.org). */
export async function sitemapIndex({ repository, reader }: PageContext): Promise<string> {
  const oldest = await repository.search(new URLSearchParams({ size: '1', sort: 'oldest' }));
  const first = oldest.hits.hits[0];
  const months = first === undefined ? [] : monthsSince(instantOf(first.created), new Date());
  const sitemaps = months.map(
    (month) => `<sitemap><loc>${xml(`${reader.baseUrl}/sitemap-${month}.xml`)}</loc></sitemap>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${sitemaps.join('\n')}
</sitemapindex>
`;
}

/** GET /sitemap-{month}.xml: the newest versions that were published in a month, `2026-05`. */
export async function sitemap(month: string, { repository }: PageContext): Promise<string> {
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month)) throw notFound();
  const query = new URLSearchParams({
    q: `created:[${month} TO ${month}]`,
    sort: 'oldest',
    size: PAGE,
    cursor: '*',
  });
  const urls: string[] = [];
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const { hits, links } = await repository.search(query);
    for (const hit of hits.hits)
      urls.push(
        `<url><loc>${xml(hit.links['self_html'] ?? '')}</loc><lastmod>${instantOf(hit.updated)}</lastmod></url>`,
      );
    const cursor = links['next'] === undefined ? null : new URL(links['next']).searchParams.get('cursor');
    if (cursor === null) break;
    query.set('cursor', cursor);
  }
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.join('\n')}
</urlset>
`;
}

function notFound(): ApiError {
  return new ApiError(404, { status: 404, message: 'There is no such sitemap.' });
}

/** Months from the one of `first` to the one of `now`, at most 50 years. */
function monthsSince(first: string, now: Date): string[] {
  const months: string[] = [];
  const at = new Date(`${first.slice(0, 7)}-01T00:00:00Z`);
  while (at <= now && months.length < 50 * MONTHS) {
    months.push(at.toISOString().slice(0, 7));
    at.setUTCMonth(at.getUTCMonth() + 1);
  }
  return months;
}

/** GET /robots.txt */
export function robots(baseUrl: string): string {
  return `User-agent: *
Disallow: /api/
Allow: /api/records/
Allow: /api/packages/
Disallow: /search
Disallow: /uploads/

Sitemap: ${baseUrl}/sitemap.xml
`;
}

/** GET /opensearch.xml: lets browsers add the search (OpenSearch 1.1). */
export function openSearch(baseUrl: string, siteName: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>${xml(siteName.slice(0, 16))}</ShortName>
<Description>${xml(siteName)}</Description>
<InputEncoding>UTF-8</InputEncoding>
<Url type="text/html" template="${xml(baseUrl)}/search?q={searchTerms}"/>
<Url type="application/atom+xml" template="${xml(baseUrl)}/feed.atom?q={searchTerms}"/>
</OpenSearchDescription>
`;
}

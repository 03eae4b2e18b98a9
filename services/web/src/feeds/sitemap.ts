import { escapeXml, instantOf } from '@kr/formats';
import { ApiError } from '../api/repository.ts';
import type { PageContext } from '../html/layout.ts';

/** Pages in one sitemap, by the rules of sitemaps.org. */
const MAX_URLS = 50_000;
const SEARCH_SIZE = 1_000;
/** Searches for an index that run at the same time. */
const PARALLEL = 4;

/** GET /sitemap.xml: one sitemap for each month with publications, or for each day of very large months (sitemaps.org). */
export async function sitemapIndex({ repository, reader }: PageContext): Promise<string> {
  const oldest = await repository.search(new URLSearchParams({ size: '1', sort: 'oldest' }));
  const first = oldest.hits.hits[0];
  const months = first === undefined ? [] : monthsSince(instantOf(first.created), new Date());
  const entries: string[] = [];
  const add = async (period: string): Promise<void> => {
    const query = new URLSearchParams({ q: publishedIn(period), size: '1' });
    const { total } = (await repository.search(query)).hits;
    if (total > MAX_URLS && period.length === 7) await forEachOf(daysOf(period), add);
    else if (total > 0)
      entries.push(`<sitemap><loc>${escapeXml(`${reader.baseUrl}/sitemap-${period}.xml`)}</loc></sitemap>`);
  };
  await forEachOf(months, add);
  return `<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${entries.toSorted().join('\n')}
</sitemapindex>
`;
}

/** GET /sitemap-{period}.xml: the newest versions that were published in a month, `2026-05`, or on a day, `2026-05-04`. */
export async function sitemap(period: string, { repository }: PageContext): Promise<string> {
  if (!/^\d{4}-(?:0[1-9]|1[0-2])(?:-[0-3]\d)?$/.test(period))
    throw new ApiError(404, { status: 404, message: 'There is no such sitemap.' });
  const query = new URLSearchParams({
    q: publishedIn(period),
    sort: 'oldest',
    size: String(SEARCH_SIZE),
    cursor: '*',
  });
  const urls: string[] = [];
  for (let cursor: string | null = '*'; cursor !== null && urls.length < MAX_URLS; ) {
    query.set('cursor', cursor);
    const { hits, links } = await repository.search(query);
    for (const hit of hits.hits)
      urls.push(
        `<url><loc>${escapeXml(hit.links['self_html'] ?? '')}</loc><lastmod>${instantOf(hit.updated)}</lastmod></url>`,
      );
    cursor = links['next'] === undefined ? null : new URL(links['next']).searchParams.get('cursor');
  }
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.join('\n')}
</urlset>
`;
}

function publishedIn(period: string): string {
  return `created:[${period} TO ${period}]`;
}

/** Months from the one of `first` to the one of `now`. */
function monthsSince(first: string, now: Date): string[] {
  const months: string[] = [];
  const at = new Date(`${first.slice(0, 7)}-01T00:00:00Z`);
  for (; at <= now; at.setUTCMonth(at.getUTCMonth() + 1)) months.push(at.toISOString().slice(0, 7));
  return months;
}

function daysOf(month: string): string[] {
  const [year = 0, number = 0] = month.split('-').map(Number);
  const days = new Date(Date.UTC(year, number, 0)).getUTCDate();
  return Array.from({ length: days }, (_, index) => `${month}-${String(index + 1).padStart(2, '0')}`);
}

async function forEachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const lane = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
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
<ShortName>${escapeXml(siteName.slice(0, 16))}</ShortName>
<Description>${escapeXml(siteName)}</Description>
<InputEncoding>UTF-8</InputEncoding>
<Url type="text/html" template="${escapeXml(baseUrl)}/search?q={searchTerms}"/>
<Url type="application/atom+xml" template="${escapeXml(baseUrl)}/feed.atom?q={searchTerms}"/>
</OpenSearchDescription>
`;
}

/** One page or document that a crawl read. */
export interface Visit {
  url: string;
  status: number;
  /** The address of the page that links to it; empty for the start. */
  from: string;
}

const MAX_VISITS = 1_500;

/**
 * Follows the links of pages, `Link` headers, JSON, XML and link sets from the starts, each address once. Links to other
 * hosts are not followed.
 * @throws Error when the site is larger than the crawl may be
 */
export async function crawl(
  starts: readonly string[],
  isFollowed: (url: URL, from: string) => boolean,
): Promise<Visit[]> {
  const origins = new Set(starts.map((start) => new URL(start).origin));
  const visits: Visit[] = [];
  const known = new Set(starts);
  const waiting = starts.map((url) => ({ url, from: '' }));
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (visits.length === MAX_VISITS) throw new Error(`more than ${MAX_VISITS} addresses`);
    const response = await fetch(next.url, { redirect: 'follow', headers: { accept: 'text/html, */*' } });
    const type = response.headers.get('content-type') ?? '';
    const text = /html|json|xml/.test(type) ? await response.text() : '';
    if (text === '') await response.body?.cancel();
    visits.push({ url: next.url, status: response.status, from: next.from });
    for (const found of [...linksOf(text, type), ...headerLinks(response.headers)]) {
      const url = new URL(found, response.url);
      url.hash = '';
      if (!origins.has(url.origin) || known.has(url.href) || !isFollowed(url, next.url)) continue;
      known.add(url.href);
      waiting.push({ url: url.href, from: next.url });
    }
  }
  return visits;
}

/** Visits that lead nowhere. */
export function brokenOf(visits: readonly Visit[]): Visit[] {
  return visits.filter(({ status, from }) => from !== '' && status >= 400);
}

function linksOf(text: string, type: string): string[] {
  if (type.includes('html')) {
    const attributes = text.matchAll(/<(?!base)[^>]*?\s(?:href|src)="([^"]*)"/g);
    return [...attributes].map(([, value = '']) => value.replaceAll('&amp;', '&'));
  }
  if (type.includes('xml')) {
    const found = text.matchAll(/<loc>([^<]*)<|<link [^>]*href="([^"]*)"/g);
    return [...found].map(([, loc, href]) => (loc ?? href ?? '').replaceAll('&amp;', '&'));
  }
  return text === '' ? [] : linkMembers(JSON.parse(text));
}

/** The values of all members `links`, and the targets of link sets. */
function linkMembers(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    if (name === 'href' && typeof member === 'string') return [member];
    if (name === 'links' && typeof member === 'object' && member !== null && !Array.isArray(member))
      return Object.values(member).filter((link) => typeof link === 'string');
    return linkMembers(member);
  });
}

function headerLinks(headers: Headers): string[] {
  const found = (headers.get('link') ?? '').matchAll(/<([^>]+)>\s*;/g);
  return [...found].map(([, url = '']) => url);
}

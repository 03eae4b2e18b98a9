/** One page or document that a crawl read. */
export interface Visit {
  url: string;
  status: number;
  from: string;
}

const MOST_VISITS = 400;

/**
 * Follows every link of every page from the start, and the links of JSON documents, within one site; each address once.
 * Links to other hosts and to parts of a page are not followed.
 */
export async function crawl(start: string, isFollowed: (url: URL) => boolean): Promise<Visit[]> {
  const { origin } = new URL(start);
  const visits: Visit[] = [];
  const seen = new Set([start]);
  const waiting = [{ url: start, from: '' }];
  for (
    let next = waiting.shift();
    next !== undefined && visits.length < MOST_VISITS;
    next = waiting.shift()
  ) {
    const response = await fetch(next.url, { redirect: 'follow', headers: { accept: 'text/html, */*' } });
    const type = response.headers.get('content-type') ?? '';
    const text = /html|json$|json;/.test(type) ? await response.text() : '';
    if (text === '') await response.body?.cancel();
    visits.push({ url: next.url, status: response.status, from: next.from });
    for (const found of linksOf(text, type)) {
      const url = new URL(found, response.url);
      url.hash = '';
      if (url.origin !== origin || seen.has(url.href) || !isFollowed(url)) continue;
      seen.add(url.href);
      waiting.push({ url: url.href, from: next.url });
    }
  }
  return visits;
}

function linksOf(text: string, type: string): string[] {
  if (type.includes('html')) {
    const attributes = text.matchAll(/<(?!base)[^>]*?\s(?:href|src)="([^"]*)"/g);
    return [...attributes].map(([, value = '']) => value.replaceAll('&amp;', '&'));
  }
  return text === '' ? [] : linkMembers(JSON.parse(text));
}

/** The values of all members `links`. */
function linkMembers(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'links' && typeof member === 'object' && member !== null
      ? Object.values(member).filter((link) => typeof link === 'string')
      : linkMembers(member),
  );
}

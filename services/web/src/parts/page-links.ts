import { type Html, html } from '../html/html.ts';
import { link, type PageContext } from '../html/layout.ts';

/** The API lists no more than this many entries page by page. */
const MAX_ENTRIES = 10_000;

/** The page of a list that the address of this page names. */
export function pageNumber({ query }: Pick<PageContext, 'query'>): number {
  const page = query.get('page') ?? '';
  return /^[1-9]\d{0,4}$/.test(page) ? Number(page) : 1;
}

/**
 * Links to the previous and the next page of a list; undefined if all entries are on one page.
 * @param total entries of all pages
 * @param size entries of a page
 */
export function pageLinks(total: number, size: number, context: PageContext): Html | undefined {
  const { texts } = context;
  const pages = Math.ceil(Math.min(total, MAX_ENTRIES) / size);
  if (pages < 2) return undefined;
  const page = Math.min(pages, pageNumber(context));
  const to = (number: number): string => {
    const query = new URLSearchParams(context.query);
    query.set('page', String(number));
    return link(`${context.path.split('?')[0]}?${query}`, context);
  };
  return html`<nav class="pages" aria-label="${texts.results.pages}">
${page > 1 && html`<a class="button" rel="prev" href="${to(page - 1)}">${texts.results.previous}</a>`}
<span>${texts.results.page(page, pages)}</span>
${page < pages && html`<a class="button" rel="next" href="${to(page + 1)}">${texts.results.next}</a>`}
${total > MAX_ENTRIES && page === pages && html`<p>${texts.results.tooFar}</p>`}
</nav>`;
}

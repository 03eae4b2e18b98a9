import type { Reader, Repository } from '../api/repository.ts';
import { withToken } from '../api/repository.ts';
import { type Child, type Html, html, trusted } from './html.ts';
import type { Texts } from './texts.ts';

/** Input of every page. */
export interface PageContext {
  reader: Reader;
  repository: Repository;
  texts: Texts;
  siteName: string;
  /** Name of a file in `assets/` → its URL with a content hash. */
  asset(name: string): string;
  /** Path of this page with its query, without the token. */
  path: string;
  query: URLSearchParams;
}

export interface Page {
  status?: number;
  title: string;
  /** For search engines and previews of shared links; at most some 200 characters are useful. */
  description?: string | undefined;
  /** Further elements of the head. */
  head?: Child;
  /** Value of the `Link` header (RFC 8288). */
  link?: string | undefined;
  /** Absolute URL that search engines should show; the page itself if undefined. */
  canonical?: string | undefined;
  /** Scripts of `assets/` that the page needs. */
  scripts?: readonly string[];
  main: Html;
  /** Whether `main` has a search field; the header then has none. */
  hasSearch?: boolean;
  /** False keeps the page out of search engines. */
  isIndexed?: boolean;
  /** Id of the parent of the entity, if every reader gets the same page; caches then store it. */
  publicOf?: string | undefined;
  /** Seconds until the request may succeed. */
  retryAfter?: string | undefined;
}

/** The whole document. */
export function renderPage(page: Page, context: PageContext): string {
  const { texts, siteName, asset, reader } = context;
  const title = page.title === siteName ? siteName : `${page.title} · ${siteName}`;
  const canonical = page.canonical ?? `${reader.baseUrl}${context.path}`;
  const isIndexed = page.isIndexed !== false && reader.token === undefined && (page.status ?? 200) < 300;
  const text = html`<!doctype html>
<html lang="${texts.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${
  page.description &&
  html`<meta name="description" content="${page.description}">
<meta property="og:description" content="${page.description}">`
}
${!isIndexed && html`<meta name="robots" content="noindex">`}
<meta property="og:title" content="${page.title}">
<meta property="og:type" content="website">
<meta property="og:site_name" content="${siteName}">
${
  reader.token === undefined &&
  html`<meta property="og:url" content="${canonical}">
<link rel="canonical" href="${canonical}">`
}
<link rel="icon" href="${asset('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${asset('style.css')}">
<link rel="search" type="application/opensearchdescription+xml" title="${siteName}" href="/opensearch.xml">
${page.head}
${(page.scripts ?? []).map((name) => html`<script type="module" src="${asset(name)}"></script>`)}
</head>
<body>
<a class="skip" href="#main">${texts.skipToContent}</a>
${header(page, context)}
<main id="main">
${page.main}
</main>
${footer(context)}
</body>
</html>
`;
  return text.text;
}

function header({ hasSearch }: Page, { siteName, texts }: PageContext): Html {
  return html`<header class="site">
<nav aria-label="${texts.mainNavigation}">
<a class="brand" href="/">${siteName}</a>
${
  !hasSearch &&
  html`<form class="find" role="search" action="/search" method="get">
<input type="search" name="q" aria-label="${texts.searchHint}" placeholder="${texts.search}">
<button>${texts.search}</button>
</form>`
}
</nav>
</header>`;
}

function footer({ siteName, texts }: PageContext): Html {
  return html`<footer class="site">
<p>${siteName}</p>
<ul>
<li><a href="/api/openapi.json">${texts.apiDescription}</a></li>
<li><a href="/feed.atom">${texts.footerFeed}</a></li>
<li><a href="/oai2d?verb=Identify">${texts.footerHarvest}</a></li>
</ul>
</footer>`;
}

/** An address of this site that keeps the access-link token of the page. */
export function link(path: string, { reader }: Pick<PageContext, 'reader'>): string {
  return withToken(path, reader.token);
}

/** A data block for programs. `<` is escaped, so no text can end the element. */
export function jsonBlock(type: string, value: unknown): Html {
  return html`<script type="${type}">${trusted(JSON.stringify(value).replaceAll('<', '\\u003c'))}</script>`;
}

/** A definition list; entries without content are left out. */
export function definitions(entries: readonly (readonly [term: string, content: Child])[]): Html {
  const nonEmpty = entries.filter(([, content]) => !isEmpty(content));
  return html`<dl>${nonEmpty.map(([term, content]) => html`<div><dt>${term}</dt><dd>${content}</dd></div>`)}</dl>`;
}

function isEmpty(child: Child): boolean {
  return (
    child === undefined ||
    child === null ||
    child === false ||
    child === '' ||
    (Array.isArray(child) && child.every(isEmpty))
  );
}

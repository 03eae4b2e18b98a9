import { html } from '../html/html.ts';
import { link, type Page, type PageContext } from '../html/layout.ts';
import { hitList } from '../parts/hit.ts';

const NEWEST = 5;

/** GET / */
export async function welcomePage(context: PageContext): Promise<Page> {
  const { texts, repository, siteName } = context;
  const newest = await repository.search(new URLSearchParams({ size: String(NEWEST), sort: 'newest' }));
  return {
    title: siteName,
    description: texts.welcome.lead,
    hasSearch: true,
    head: html`<link rel="alternate" type="application/atom+xml" title="${texts.footerFeed}" href="/feed.atom">`,
    main: html`<h1>${siteName}</h1>
<p>${texts.welcome.lead}</p>
<form class="find" role="search" action="/search" method="get">
<input type="search" name="q" aria-label="${texts.searchHint}" placeholder="${texts.searchHint}">
<button>${texts.search}</button>
</form>
<ul class="meta actions">
<li><a class="button" href="${link('/search', context)}">${texts.welcome.all}</a></li>
<li><a class="button" href="${link('/search?record_type=package', context)}">${texts.welcome.packages}</a></li>
<li><a class="button" href="${link('/search?record_type=resource', context)}">${texts.welcome.resources}</a></li>
<li><a class="button" href="${link('/search?view=map', context)}">${texts.results.map}</a></li>
</ul>
<section>
<h2>${texts.welcome.newest}</h2>
${newest.hits.hits.length === 0 ? html`<p>${texts.welcome.empty}</p>` : hitList(newest.hits.hits, context)}
</section>
<section>
<h2>${texts.welcome.forDevelopers}</h2>
<p>${texts.welcome.forDevelopersText} <a href="/api/openapi.json">OpenAPI</a></p>
</section>`,
  };
}

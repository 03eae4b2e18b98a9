import type { Bucket, Hits } from '@kr/formats';
import { type Html, html } from '../html/html.ts';
import { link, type Page, type PageContext } from '../html/layout.ts';
import { hitList } from '../parts/hit.ts';
import { pageLinks } from '../parts/page-links.ts';
import { resultMap } from '../parts/result-map.ts';

const SIZE = 20;

/** Parameters of the page that the API takes too; facets are added as the API names them. */
const PASSED = ['q', 'sort', 'page', 'bbox'];
const FACETS = [
  'record_type',
  'resource_type',
  'category',
  'geo_work_programme_activity',
  'target_audience',
  'engagement_priority',
  'subject',
];

/** GET /search */
export async function searchPage(context: PageContext): Promise<Page> {
  const { texts, repository, asset } = context;
  const query = apiQuery(context.query);
  const results = await repository.search(query);
  const { hits, total } = results.hits;
  const isMap = context.query.get('view') === 'map';
  const download = (format: string): string =>
    link(`/api/search?${new URLSearchParams([...query, ['format', format]])}`, context);
  const feed = `/feed.atom?${without(query, ['page', 'sort', 'size'])}`;
  return {
    title: [context.query.get('q'), texts.results.title].filter(Boolean).join(' – '),
    isIndexed: false,
    hasSearch: true,
    head: html`<link rel="alternate" type="application/atom+xml" title="${texts.results.feed}" href="${feed}">`,
    scripts: ['search.js'],
    main: html`<h1>${texts.results.title}</h1>
<form role="search" action="/search" method="get" id="search">
<p class="find"><input type="search" name="q" value="${context.query.get('q')}" aria-label="${texts.searchHint}" placeholder="${texts.searchHint}">
<button>${texts.search}</button></p>
<div class="columns left">
<div>
<div class="toolbar">
<p role="status"><strong>${texts.results.total(total)}</strong> <a class="to-filters" href="#filters">${texts.results.filters}</a></p>
${sortChoice(results, context)}
${viewChoice(isMap, context)}
</div>
${isMap && resultMap(hits, { land: asset('land.svg'), box: context.query.get('bbox') }, context)}
${hits.length === 0 ? html`<p>${texts.results.none} ${texts.results.noneHint}</p>` : hitList(hits, context, 2)}
${pageLinks(total, SIZE, context)}
<p class="actions"><a href="${feed}">${texts.results.feed}</a> ·
${texts.results.download}: <a href="${download('csv')}">CSV</a> <a href="${download('geojson')}">GeoJSON</a></p>
</div>
${filters(results, context)}
</div>
</form>`,
  };
}

/** The query of this page as the API takes it; edges of a box that were entered one by one become `bbox`. */
export function apiQuery(query: URLSearchParams): URLSearchParams {
  const passed = new URLSearchParams({ size: String(SIZE) });
  for (const name of [...PASSED, ...FACETS])
    for (const value of query.getAll(name)) if (value !== '') passed.append(name, value);
  const edges = ['west', 'north', 'east', 'south'].map((edge) => query.get(edge) ?? '');
  if (edges.every((edge) => edge !== '')) passed.set('bbox', edges.join(','));
  return passed;
}

function without(query: URLSearchParams, names: readonly string[]): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => !names.includes(name)));
}

function filters({ aggregations }: Hits, context: PageContext): Html {
  const { texts, query } = context;
  const facets = Object.entries(aggregations).filter(([, { buckets }]) => buckets.length > 0);
  const hasFilter = [...FACETS, 'bbox', 'west'].some((name) => query.has(name));
  const q = query.get('q') ?? '';
  return html`<div id="filters">
<h2>${texts.results.filters}</h2>
${facets.map(([name, { label, buckets }]) => html`<fieldset class="facet"><legend>${label}</legend>${bucketList(name, buckets, '')}</fieldset>`)}
${placeFilter(context)}
<p><button class="primary">${texts.results.applyFilters}</button></p>
${hasFilter && html`<p><a href="${link(q === '' ? '/search' : `/search?${new URLSearchParams({ q })}`, context)}">${texts.results.clearFilters}</a></p>`}
</div>`;
}

function bucketList(name: string, buckets: readonly Bucket[], parent: string): Html {
  return html`<ul>${buckets.map((bucket) => {
    const value = `${parent}${bucket.key}`;
    const inner = bucket.inner?.buckets ?? [];
    return html`<li><label><input type="checkbox" name="${name}" value="${value}"${bucket.is_selected && html` checked`}>
<span>${bucket.label}</span> <span class="number">${bucket.doc_count}</span></label>
${inner.length > 0 && bucketList(name, inner, `${value}::`)}</li>`;
  })}</ul>`;
}

function placeFilter({ texts, query }: PageContext): Html {
  const [west, north, east, south] = (apiQuery(query).get('bbox') ?? '').split(',');
  const edge = (name: string, label: string, value: string | undefined, max: number): Html =>
    html`<label>${label} <input type="number" name="${name}" value="${value}" min="${-max}" max="${max}" step="any"></label>`;
  return html`<fieldset class="facet"><legend>${texts.results.place}</legend>
<p class="muted">${texts.results.placeHint}</p>
<div class="edges">
${edge('west', texts.results.west, west, 180)}${edge('east', texts.results.east, east, 180)}
${edge('south', texts.results.south, south, 90)}${edge('north', texts.results.north, north, 90)}
</div></fieldset>`;
}

function sortChoice({ sortBy }: Hits, { texts, query }: PageContext): Html {
  const names: Readonly<Record<string, string>> = texts.results.sorts;
  const chosen = query.get('sort') ?? sortBy;
  return html`<label>${texts.results.sort} <select name="sort">${Object.entries(names).map(
    ([name, label]) => html`<option value="${name}"${name === chosen && html` selected`}>${label}</option>`,
  )}</select></label>`;
}

function viewChoice(isMap: boolean, { texts }: PageContext): Html {
  const option = (value: string, label: string, isChosen: boolean): Html =>
    html`<option value="${value}"${isChosen && html` selected`}>${label}</option>`;
  return html`<label>${texts.results.view} <select name="view">${option('list', texts.results.list, !isMap)}${option('map', texts.results.map, isMap)}</select></label>`;
}

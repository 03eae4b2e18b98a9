import {
  CITATION_STYLES,
  type CitationStyle,
  COLLECTION,
  citation,
  type Doi,
  descriptions,
  doiUrl,
  type Entity,
  exportUrl,
  type FileListing,
  FORMATS,
  type Hits,
  inLanguage,
  isRegistered,
  type Kind,
  labelOf,
  licenceUrl,
  plainText,
  schemaOrg,
  signpostingHeader,
  signpostingLinks,
  titleOf,
} from '@kr/formats';
import { ApiError } from '../api/repository.ts';
import { readableDate } from '../html/dates.ts';
import { type Child, type Html, html } from '../html/html.ts';
import { definitions, jsonBlock, link, type Page, type PageContext } from '../html/layout.ts';
import { depositedHtml } from '../html/rich-text.ts';
import { details } from '../parts/details.ts';
import { extentMap } from '../parts/extent-map.ts';
import { fileTable } from '../parts/file-table.ts';
import { accessLabel, hitList, pagePath, typeLabel } from '../parts/hit.ts';
import { pageLinks, pageNumber } from '../parts/page-links.ts';
import { people } from '../parts/people.ts';
import { preview } from '../parts/preview.ts';
import { previewKind } from '../parts/preview-kind.ts';

const RESOURCES_SHOWN = 50;

/** The landing page of a resource or package, or the view of a draft for people with an access link. */
export async function entityPage(kind: Kind, entity: Entity, context: PageContext): Promise<Page> {
  const { repository, texts } = context;
  const [files, resources, versions, packages] = await Promise.all([
    entity.files?.enabled === false ? undefined : readableOrNothing(repository.files(entity, kind)),
    kind === 'package'
      ? repository.resources(entity, { size: RESOURCES_SHOWN, page: pageNumber(context) })
      : undefined,
    entity.is_published ? newestVersions(kind, entity, context) : undefined,
    kind === 'record' ? packagesOf(entity, context) : [],
  ]);
  const { metadata } = entity;
  const title = titleOf(entity);
  const places = metadata.locations?.features ?? [];
  const map = extentMap(places, texts);
  const page = `/${COLLECTION[kind]}/${entity.id}`;
  const formatContext = {
    baseUrl: context.reader.baseUrl,
    repository: context.siteName,
    files: (files?.entries ?? []).filter(({ status }) => status === 'completed'),
  };
  // Signposting is for everybody: a page opened by an access link is not harvested.
  const isHarvested = entity.is_published && context.reader.token === undefined;
  return {
    title,
    link: isHarvested
      ? signpostingHeader(entity, signpostingLinks(entity, formatContext, descriptions()))
      : undefined,
    description: plainText(metadata.description ?? '').slice(0, 300) || undefined,
    publicOf: isPublic(entity, context) ? entity.parent.id : undefined,
    canonical: entity.is_published ? entity.links['self_html'] : undefined,
    isIndexed: entity.is_published,
    head: html`${isHarvested && jsonBlock('application/ld+json', schemaOrg(entity, formatContext))}
${isHarvested && descriptions().map(({ name, mediaType }) => html`<link rel="describedby" type="${mediaType}" href="${exportUrl(entity, name)}">`)}
${entity.links['self'] && html`<link rel="alternate" type="application/json" href="${link(entity.links['self'], context)}">`}
${places.length > 0 && html`<meta name="geo.placename" content="${places.flatMap(({ place }) => place ?? []).join('; ')}">`}`,
    main: html`<article>
${notices(entity, page, context)}
<ul class="meta">
<li class="tag">${typeLabel(entity, context)}</li>
<li class="tag">${accessLabel(entity.access.status, context)}</li>
${metadata.publication_date && html`<li>${texts.entity.published(readableDate(metadata.publication_date, texts.language))}</li>`}
<li>${texts.entity.version(metadata.version ?? String(entity.versions.index))}</li>
</ul>
<h1>${title}</h1>
${(metadata.additional_titles ?? []).map((one) => html`<p class="muted">${one.title}</p>`)}
${people(metadata.creators, texts)}
<div class="columns">
<div>
${section(texts.entity.description, metadata.description && html`<div class="rich">${depositedHtml(metadata.description)}</div>`)}
${(metadata.additional_descriptions ?? []).map((one) => section(labelOf(one.type, texts.language) ?? texts.entity.description, html`<div class="rich">${depositedHtml(one.description)}</div>`))}
${resources && section(texts.entity.resources, resourceList(resources, context))}
${await filesSection(entity, files, page, context)}
${section(texts.entity.extent, map && html`${map}${placeNames(entity)}`)}
${details(entity, context)}
</div>
<aside>
${citationBox(entity, context)}
${section(texts.entity.licences, licences(entity, context))}
${section(texts.entity.partOf, packages.length > 0 && html`<ul class="plain">${packages.map((one) => html`<li><a href="${link(pagePath(one), context)}">${titleOf(one)}</a></li>`)}</ul>`)}
${section(texts.entity.versions, versions && versionList(versions, entity, page, context))}
</aside>
</div>
</article>`,
    scripts: ['copy.js'],
  };
}

/** Whether every reader gets the same page, so that the gateway may cache it. */
function isPublic({ is_published, access }: Entity, { reader, query }: PageContext): boolean {
  return is_published && access.record === 'public' && reader.token === undefined && query.size === 0;
}

function section(title: string, content: Child): Html | undefined {
  if (content === undefined || content === false || content === '' || content === null) return undefined;
  return html`<section><h2>${title}</h2>${content}</section>`;
}

function notices(entity: Entity, page: string, context: PageContext): Html {
  const { texts } = context;
  const { embargo, files } = entity.access;
  const isEmbargoed = embargo?.active === true && embargo.until !== undefined;
  const isOld = entity.is_published && entity.versions.is_latest === false;
  return html`${entity.is_draft && html`<div class="notice"><p>${texts.draftBanner}</p></div>`}
${isOld && html`<div class="notice"><p>${texts.entity.newerVersion} <a href="${link(`${page}/latest`, context)}">${texts.entity.toNewest}</a></p></div>`}
${
  isEmbargoed &&
  html`<div class="notice"><p>${texts.access.embargoedUntil(readableDate(embargo.until ?? '', texts.language))}</p>
${embargo.reason && html`<p>${texts.access.reason(embargo.reason)}</p>`}</div>`
}
${!isEmbargoed && files === 'restricted' && html`<div class="notice"><p>${texts.access.restrictedFiles} ${texts.access.signInHint}</p></div>`}`;
}

/** Resources grouped by type, in the order of the most frequent type. */
function resourceList(resources: Hits, context: PageContext): Html {
  const { texts } = context;
  const { hits, total } = resources.hits;
  if (total === 0) return html`<p>${texts.entity.noResources}</p>`;
  const groups = Map.groupBy(hits, ({ metadata }) => labelOf(metadata.resource_type, texts.language) ?? '');
  return html`<p class="muted">${texts.entity.resourceCount(total)}</p>
${[...groups].map(([type, group]) => html`<h3>${type}</h3>${hitList(group, context, 4)}`)}
${pageLinks(total, RESOURCES_SHOWN, context)}`;
}

async function filesSection(
  entity: Entity,
  files: FileListing | undefined,
  page: string,
  context: PageContext,
): Promise<Html | undefined> {
  const { texts } = context;
  if (files === undefined || !files.enabled) return undefined;
  const archive = new URL(entity.links['archive'] ?? context.reader.baseUrl).pathname;
  const chosen = files.entries?.find(
    (entry) => entry.key === files.default_preview && entry.status === 'completed' && previewKind(entry),
  );
  return html`<section id="files"><h2>${texts.entity.files}</h2>
${fileTable(files, { page, archive }, context)}
${chosen && html`<h3>${texts.previews.title(chosen.key)}</h3>${await preview(chosen, context)}`}
</section>`;
}

function placeNames({ metadata }: Entity): Html | undefined {
  const named = (metadata.locations?.features ?? []).filter(({ place, description }) => place ?? description);
  if (named.length === 0) return undefined;
  return html`<ul class="plain">${named.map(({ place, description }) => html`<li>${place}${place && description && ': '}${description}</li>`)}</ul>`;
}

function citationBox(entity: Entity, context: PageContext): Html {
  const { texts } = context;
  const doi = entity.pids?.doi;
  const conceptDoi = entity.parent.pids?.doi;
  const [first, ...others] = CITATION_STYLES;
  const line = (style: CitationStyle): Html => linked(citation(entity, style), entity.links['self_html']);
  return html`<section class="citation card" id="citation"><h2>${texts.entity.citation}</h2>
<blockquote id="citation-text">${line(first)}</blockquote>
<p class="actions"><button type="button" data-copy="citation-text" data-copied="${texts.entity.copied}">${texts.entity.copy}</button></p>
<details><summary>${texts.entity.citationStyles}</summary>
${definitions(others.map((style) => [texts.entity.citationStyleNames[style], line(style)] as const))}
</details>
${definitions([
  [texts.entity.doi, doi && doiWithState(doi, entity.links['doi'], context)],
  [texts.entity.conceptDoi, conceptDoi && doiWithState(conceptDoi, doiUrl(conceptDoi.identifier), context)],
  [texts.entity.exports, entity.is_published && exportLinks(entity, context)],
])}
</section>`;
}

/** DOIs that are registered nowhere have no link. */
function doiWithState(doi: Doi, url: string | undefined, { texts }: PageContext): Html {
  const { identifier, provider, state = provider === 'local' ? 'unregistered' : '' } = doi;
  const names: Readonly<Record<string, string>> = texts.entity.doiStates;
  return html`${isRegistered(doi) ? html`<a href="${url}">${identifier}</a>` : identifier}${names[state] && html` <span class="muted">${names[state]}</span>`}`;
}

function exportLinks(entity: Entity, context: PageContext): Html {
  const formats = FORMATS.filter(({ isDescription }) => isDescription);
  return html`<ul class="tags">${formats.map(({ name, title }) => {
    const { pathname } = new URL(exportUrl(entity, name));
    return html`<li><a class="tag" href="${link(pathname, context)}">${title}</a></li>`;
  })}</ul>`;
}

/** Text with its addresses as links, except that of the page itself. */
function linked(text: string, page: string | undefined): Html {
  const parts = text.split(/(https?:\/\/[^\s]+[^\s.,;])/);
  return html`${parts.map((part, index) => (index % 2 === 1 && part !== page ? html`<a href="${part}">${part}</a>` : part))}`;
}

function licences({ metadata }: Entity, { texts }: PageContext): Html | undefined {
  const { rights = [] } = metadata;
  if (rights.length === 0) return undefined;
  return html`<ul class="plain">${rights.map((right) => {
    const { id, title, description } = right;
    const address = licenceUrl(right);
    const name = inLanguage(title, texts.language) ?? id ?? address;
    return html`<li>${address === undefined ? name : html`<a href="${address}" rel="license">${name}</a>`}
${description && html`<br><span class="muted">${inLanguage(description, texts.language)}</span>`}</li>`;
  })}</ul>`;
}

const VERSIONS_SHOWN = 5;

/** Most entities have one version, for which nothing is requested. */
async function newestVersions(
  kind: Kind,
  entity: Entity,
  { repository }: PageContext,
): Promise<readonly Entity[]> {
  const { index, is_latest: isLatest } = entity.versions;
  if (index === 1 && isLatest) return [entity];
  return (await repository.versions(kind, entity.id, { size: VERSIONS_SHOWN, page: 1 })).hits.hits;
}

function versionList(versions: readonly Entity[], entity: Entity, page: string, context: PageContext): Html {
  const { texts } = context;
  return html`<ul class="plain">${versions.map((version) => {
    const name = texts.entity.version(version.metadata.version ?? String(version.versions.index));
    const isThis = version.id === entity.id;
    return html`<li>${isThis ? html`<strong aria-current="page">${name}</strong>` : html`<a href="${link(pagePath(version), context)}">${name}</a>`}
<span class="muted">${version.metadata.publication_date && readableDate(version.metadata.publication_date, texts.language)}</span></li>`;
  })}</ul>
<p><a href="${link(`${page}/versions`, context)}">${texts.entity.allVersions}</a></p>`;
}

/** The packages of a resource that the reader may see. */
async function packagesOf({ relationship }: Entity, { repository }: PageContext): Promise<Entity[]> {
  const ids = (relationship?.packages ?? []).slice(0, 10).map(({ id }) => id);
  const found = await Promise.all(ids.map((id) => readableOrNothing(repository.entity('package', id))));
  return found.filter((one) => one !== undefined);
}

/** A part that this reader may not see is left out. */
async function readableOrNothing<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ApiError && [401, 403, 404, 410].includes(error.status)) return undefined;
    throw error;
  }
}

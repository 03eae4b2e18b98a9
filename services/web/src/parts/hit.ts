import { COLLECTION, type Entity, kindOf, labelOf, plainText, titleOf } from '@kr/formats';
import { readableDate } from '../html/dates.ts';
import { type Html, html, trusted } from '../html/html.ts';
import { link, type PageContext } from '../html/layout.ts';
import { shortNames } from './people.ts';

const EXCERPT_LENGTH = 400;

/** Path of the page of a published entity. */
export function pagePath(entity: Entity): string {
  return `/${COLLECTION[kindOf(entity)]}/${entity.id}`;
}

/** Entities as a list with titles that are headings of a level. */
export function hitList(entities: readonly Entity[], context: PageContext, level: 2 | 3 | 4 = 3): Html {
  return html`<ul class="hits">${entities.map((entity) => hit(entity, context, level))}</ul>`;
}

function hit(entity: Entity, context: PageContext, level: number): Html {
  const { texts } = context;
  const { metadata, access } = entity;
  const { publication_date: date } = metadata;
  return html`<li class="card">
<ul class="meta">
<li class="tag">${typeLabel(entity, context)}</li>
<li class="tag">${accessLabel(access.status, context)}</li>
${date && html`<li>${readableDate(date, texts.language)}</li>`}
${metadata.version && html`<li>${texts.entity.version(metadata.version)}</li>`}
</ul>
${trusted(`<h${level}>`)}<a href="${link(pagePath(entity), context)}">${titleOf(entity)}</a>${trusted(`</h${level}>`)}
<p>${shortNames(metadata.creators)}</p>
${metadata.description && html`<p class="excerpt muted">${excerpt(plainText(metadata.description))}</p>`}
</li>`;
}

function excerpt(text: string): string {
  return text.length <= EXCERPT_LENGTH ? text : `${text.slice(0, EXCERPT_LENGTH).trimEnd()}…`;
}

/** “Knowledge package”, or the type of a resource. */
export function typeLabel(entity: Entity, { texts }: Pick<PageContext, 'texts'>): string {
  if (kindOf(entity) === 'package') return texts.kind.package;
  return labelOf(entity.metadata.resource_type, texts.language) ?? texts.kind.record;
}

export function accessLabel(status: string, { texts }: Pick<PageContext, 'texts'>): string {
  const labels: Readonly<Record<string, unknown>> = texts.access;
  const label = labels[status];
  return typeof label === 'string' ? label : status;
}

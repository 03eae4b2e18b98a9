import { COLLECTION, type Entity, kindOf, plainText, titleOf } from '@kr/formats';
import { readableDate } from '../html/dates.ts';
import { type Html, html, trusted } from '../html/html.ts';
import { link, type PageContext } from '../html/layout.ts';
import { shortNames } from './people.ts';
import { labelOf } from './vocabulary.ts';

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
  const kind = kindOf(entity);
  const { publication_date: date } = metadata;
  return html`<li class="card">
<ul class="meta">
<li class="tag">${kind === 'package' ? texts.kind.package : (labelOf(metadata.resource_type, texts) ?? texts.kind.record)}</li>
<li class="tag">${accessLabel(access.status, context)}</li>
${date && html`<li>${readableDate(date, texts.language)}</li>`}
${metadata.version && html`<li>${texts.entity.version(metadata.version)}</li>`}
</ul>
${trusted(`<h${level}>`)}<a href="${link(pagePath(entity), context)}">${titleOf(entity)}</a>${trusted(`</h${level}>`)}
<p>${shortNames(metadata.creators)}</p>
${metadata.description && html`<p class="excerpt muted">${plainText(metadata.description).slice(0, 400)}</p>`}
</li>`;
}

export function accessLabel(status: string, { texts }: Pick<PageContext, 'texts'>): string {
  const labels: Readonly<Record<string, unknown>> = texts.access;
  const label = labels[status];
  return typeof label === 'string' ? label : status;
}

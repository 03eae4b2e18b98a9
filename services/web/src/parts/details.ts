import { type Entity, type Funding, inLanguage, labelOf, type Metadata, urlOf } from '@kr/formats';
import { readableDate } from '../html/dates.ts';
import { type Html, html } from '../html/html.ts';
import { definitions, link, type PageContext } from '../html/layout.ts';
import type { Texts } from '../html/texts.ts';
import { people } from './people.ts';

/** The remaining metadata of an entity. */
export function details({ metadata, ...entity }: Entity, context: PageContext): Html {
  const { texts } = context;
  const t = texts.entity;
  const titles = (entries: Metadata['languages']) =>
    entries?.map((entry) => labelOf(entry, texts.language)).join(', ');
  return html`<section><h2>${t.details}</h2>
${definitions([
  [t.contributors, people(metadata.contributors, texts)],
  [t.subjects, subjects(metadata, context)],
  [t.publisher, metadata.publisher],
  [t.resourceType, labelOf(metadata.resource_type, texts.language)],
  [t.languages, titles(metadata.languages)],
  [
    t.dates,
    list(
      metadata.dates,
      ({ date, type, description }) =>
        html`${labelOf(type, texts.language)}: ${readableDate(date, texts.language)}${description && html` (${description})`}`,
    ),
  ],
  [
    t.relations,
    list(
      metadata.related_identifiers,
      (one) => html`${labelOf(one.relation_type, texts.language)} ${reference(one)}`,
    ),
  ],
  [
    t.references,
    list(
      metadata.references,
      (one) => html`${one.reference} ${one.identifier && reference({ ...one, identifier: one.identifier })}`,
    ),
  ],
  [t.identifiers, list(metadata.identifiers, reference)],
  [t.funding, list(metadata.funding, (one) => funding(one, texts))],
  [t.audiences, titles(metadata.target_audiences)],
  [t.priorities, titles(metadata.engagement_priorities)],
  [t.activity, labelOf(metadata.geo_work_programme_activity, texts.language)],
  [t.sizes, metadata.sizes?.join(', ')],
  [t.formats, metadata.formats?.join(', ')],
  [t.created, readableDate(entity.created, texts.language)],
  [t.updated, readableDate(entity.updated, texts.language)],
])}</section>`;
}

function list<Item>(items: readonly Item[] | undefined, render: (item: Item) => Html): Html | undefined {
  if (items === undefined || items.length === 0) return undefined;
  return html`<ul>${items.map((item) => html`<li>${render(item)}</li>`)}</ul>`;
}

function subjects({ subjects: all = [] }: Metadata, context: PageContext): Html | undefined {
  const names = all.flatMap(({ subject, id }) => subject ?? id ?? []);
  if (names.length === 0) return undefined;
  return html`<ul class="tags">${names.map((name) => {
    const query = new URLSearchParams({ subject: name });
    return html`<li><a class="tag" href="${link(`/search?${query}`, context)}">${name}</a></li>`;
  })}</ul>`;
}

function reference(one: { identifier: string; scheme?: string; title?: string }): Html {
  const address = urlOf(one);
  const name = one.title ?? one.identifier;
  return address === undefined
    ? html`${name}`
    : html`<a href="${address}" rel="nofollow noopener">${name}</a>`;
}

function funding({ funder, award }: Funding, texts: Texts): Html {
  const title = inLanguage(award?.title, texts.language);
  const address = award?.identifiers?.find(({ scheme }) => scheme === 'url')?.identifier;
  const name = [title, award?.number].filter(Boolean).join(', ');
  return html`${funder?.name ?? funder?.id}${name !== '' && html`: ${address === undefined ? name : reference({ identifier: address, scheme: 'url', title: name })}`}`;
}

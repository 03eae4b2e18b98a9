import type { Entity } from '../document/entity.ts';
import { addressOf, doiOf, licenceUrl, orcidUrl, pageOf } from '../document/fields.ts';
import type { FormatContext } from '../document/format-context.ts';
import { schemaType } from './schema-org.ts';

export interface Target {
  href: string;
  type?: string;
  profile?: string;
}

/** One context of a link set (RFC 9264): relation → targets. */
export type LinkContext = { anchor: string } & Readonly<Record<string, string | readonly Target[]>>;

/** A format that describes an entity, for `describedby`. */
export interface Description {
  name: string;
  mediaType: string;
  profile?: string | undefined;
}

/** Bytes of a `Link` header that proxies with default buffers accept. */
const MAX_HEADER_BYTES = 4_096;

/**
 * The links of FAIR Signposting: of the landing page, of each file, and of each metadata document.
 * @see https://signposting.org/FAIR/
 */
export function signpostingLinks(
  entity: Entity,
  { files, vocabularies }: Pick<FormatContext, 'files' | 'vocabularies'>,
  descriptions: readonly Description[],
): LinkContext[] {
  const page = pageOf(entity);
  const doi = doiOf(entity);
  const authors = (entity.metadata.creators ?? []).flatMap((one) => orcidUrl(one) ?? []);
  const licences = (entity.metadata.rights ?? []).flatMap((one) => licenceUrl(one) ?? []);
  const documents = descriptions.map(({ name, mediaType, profile }) => ({
    href: exportUrl(entity, name),
    type: mediaType,
    ...(profile === undefined ? {} : { profile }),
  }));
  const target = (href: string): Target => ({ href });
  const pageLinks: Record<string, readonly Target[]> = {
    'cite-as': doi === undefined ? [target(page)] : [target(addressOf(entity))],
    type: [target(schemaType(entity, { vocabularies })), target('https://schema.org/AboutPage')],
    author: authors.map(target),
    license: licences.map(target),
    describedby: documents,
    item: files.map(({ links, mimetype }) => ({
      href: links.content,
      ...(mimetype ? { type: mimetype } : {}),
    })),
  };
  const present = Object.entries(pageLinks).filter(([, targets]) => targets.length > 0);
  return [
    { anchor: page, ...Object.fromEntries(present) },
    ...files.map(({ links }) => ({ anchor: links.content, collection: [{ href: page, type: 'text/html' }] })),
    ...documents.map(({ href }) => ({ anchor: href, describes: [{ href: page, type: 'text/html' }] })),
  ];
}

/** URL of an export of an entity. */
export function exportUrl(entity: Entity, format: string): string {
  return `${entity.links['self'] ?? ''}/export/${format}`;
}

/**
 * The `Link` header of a landing page: all its links (level 1) if they fit into 4 KiB, and the link set (level 2).
 */
export function signpostingHeader(entity: Entity, contexts: readonly LinkContext[]): string {
  const [page] = contexts;
  const linkset = formatLink('linkset', {
    href: exportUrl(entity, 'linkset-json'),
    type: 'application/linkset+json',
  });
  const all = Object.entries(page ?? {}).flatMap(([relation, targets]) =>
    typeof targets === 'string'
      ? []
      : targets.map((target) => ({ relation, text: formatLink(relation, target) })),
  );
  const whole = [...all.map(({ text }) => text), linkset].join(', ');
  if (Buffer.byteLength(whole) <= MAX_HEADER_BYTES) return whole;
  const short = all
    .filter(({ relation }) => relation === 'cite-as' || relation === 'type')
    .map(({ text }) => text);
  return [...short, linkset].join(', ');
}

/** The link set as text (`application/linkset`, RFC 9264, section 4.1). */
export function linksetText(contexts: readonly LinkContext[]): string {
  const lines = contexts.flatMap(({ anchor, ...relations }) =>
    Object.entries(relations).flatMap(([relation, targets]) =>
      typeof targets === 'string'
        ? []
        : targets.map((target) => `${formatLink(relation, target)} ; anchor="${iri(anchor)}"`),
    ),
  );
  return `${lines.join(',\n')}\n`;
}

function formatLink(relation: string, { href, type, profile }: Target): string {
  const parameters = [
    `rel="${relation}"`,
    ...(type === undefined ? [] : [`type="${type}"`]),
    ...(profile === undefined ? [] : [`profile="${profile}"`]),
  ];
  return `<${iri(href)}> ; ${parameters.join(' ; ')}`;
}

/** A URL as header fields can have it: ASCII without quotes and brackets. */
function iri(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: header fields forbid them
  return text.replace(/[\u0000-\u0020<>"\\^`{|}\u007f-\uffff]+/g, (part) =>
    encodeURIComponent(part.toWellFormed()),
  );
}

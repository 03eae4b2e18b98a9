import { RELEASED_VOCABULARIES } from '@kr/metadata';
import sanitizeHtml from 'sanitize-html';
import type { Doi, Entity, Identified, Licence, Person, Titled } from './entity.ts';
import type { FormatContext } from './format-context.ts';

/** Values that several formats need in the same form. */

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** Text of a field that may contain HTML: no tags, no entities, single spaces. */
export function plainText(markup: string): string {
  const text = /[<&]/.test(markup)
    ? sanitizeHtml(markup.replace(/<(?:\/p|br|\/li|\/div|\/h\d)[^>]*>/gi, ' '), {
        allowedTags: [],
        allowedAttributes: {},
      })
    : markup;
  return text
    .replace(/&(amp|lt|gt|quot|#39);/g, (whole, name: string) => ENTITIES[name] ?? whole)
    .replace(/\s+/g, ' ')
    .trim();
}

/** The title, which is plain text, in one line. */
export function titleOf({ id, metadata }: Entity): string {
  return oneLine(metadata.title ?? '') || id;
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

export function descriptionOf({ metadata }: Entity): string | undefined {
  return nonEmpty(plainText(metadata.description ?? ''));
}

/** The title of a vocabulary entry in a language (ISO 639-1), or else in English or any other, or its id. */
export function labelOf(entry: Titled | undefined, language?: string): string | undefined {
  return entry === undefined ? undefined : (inLanguage(entry.title, language) ?? entry.id);
}

export function inLanguage(
  titles: Readonly<Record<string, string>> | undefined,
  language = 'en',
): string | undefined {
  return titles?.[language] ?? titles?.['en'] ?? Object.values(titles ?? {})[0];
}

/** A property of the resource type, such as `csl` or `datacite_general` (libs/metadata/vocabularies). */
export function typeProperty(
  { metadata }: Entity,
  name: string,
  { vocabularies = RELEASED_VOCABULARIES }: Pick<FormatContext, 'vocabularies'>,
): string | undefined {
  const { resource_type: type } = metadata;
  return type === undefined
    ? undefined
    : nonEmpty(vocabularies.lookup('resourcetypes', type.id)?.props?.[name] ?? '');
}

/** The DOI, if it leads to the entity: a reserved one that is not registered yet identifies nothing for others. */
export function doiOf({ pids }: Entity): string | undefined {
  const doi = pids?.doi;
  return doi !== undefined && isRegistered(doi) ? nonEmpty(doi.identifier) : undefined;
}

/** Whether a resolver knows the DOI. DOIs of other registrants have no state here. */
export function isRegistered({ provider, state = '' }: Pick<Doi, 'provider' | 'state'>): boolean {
  return provider !== 'local' && !UNREGISTERED.includes(state);
}

const UNREGISTERED = ['pending', 'unregistered', 'failed'];

/** URL of the DOI, or of the page of an entity without one. */
export function addressOf(entity: Entity): string {
  const doi = doiOf(entity);
  return doi === undefined ? pageOf(entity) : doiUrl(doi);
}

export function doiUrl(doi: string): string {
  return `https://doi.org/${doi.split('/').map(encodeURIComponent).join('/')}`;
}

export function pageOf({ links }: Entity): string {
  return links['self_html'] ?? links['self'] ?? '';
}

/** Year of the publication date, of which only the start counts; `undefined` without one. */
export function yearOf({ metadata }: Entity): string | undefined {
  return /^\d{4}/.exec(metadata.publication_date ?? '')?.[0];
}

/** “Family, Given”, or the name of an organisation. */
export function invertedName({ person_or_org: who }: Person): string {
  if (who.family_name) return [who.family_name, who.given_name].filter(Boolean).join(', ');
  return who.name ?? '';
}

export function isPerson({ person_or_org: who }: Person): boolean {
  return who.type !== 'organizational' && Boolean(who.family_name);
}

/** URL of the identifier of a person or organisation in a scheme, such as `orcid` or `ror`. */
export function nameUrl({ person_or_org: who }: Person, scheme: string): string | undefined {
  const found = who.identifiers?.find((one) => one.scheme === scheme);
  return found && urlOf(found);
}

/** ORCID iD of a person as a URL. */
export function orcidUrl(person: Person): string | undefined {
  return nameUrl(person, 'orcid');
}

/** Names of the subjects, free keywords too. */
export function keywordsOf({ metadata }: Entity): string[] {
  return (metadata.subjects ?? []).flatMap(({ subject, id }) => nonEmpty(subject ?? id ?? '') ?? []);
}

export function licenceUrl({ props, link }: Licence): string | undefined {
  return nonEmpty(props?.url ?? link ?? '');
}

export function licenceName({ title, id, link }: Licence): string {
  return inLanguage(title) ?? id ?? link ?? '';
}

/** The terms of COAR and OpenAIRE for `open`, `embargoed`, `restricted` and `metadata-only`. */
export function accessRights({ access }: Entity): { eurepo: string; eu: string; isOpen: boolean } {
  const isOpen = access.status === 'open';
  const name = isOpen ? 'openAccess' : access.status === 'embargoed' ? 'embargoedAccess' : 'restrictedAccess';
  const level = isOpen ? 'PUBLIC' : 'RESTRICTED';
  return {
    eurepo: `info:eu-repo/semantics/${name}`,
    eu: `http://publications.europa.eu/resource/authority/access-right/${level}`,
    isOpen,
  };
}

/** An instant of the API as `2026-11-24T03:29:11Z`; the API leaves the zone out in some answers. */
export function instantOf(text: string): string {
  const zoned = /[+Z]/.test(text.slice(10)) ? text : `${text.replace(' ', 'T')}Z`;
  const at = new Date(zoned);
  return Number.isNaN(at.getTime()) ? text : `${at.toISOString().slice(0, 19)}Z`;
}

/** URL of an identifier by its scheme; `undefined` for schemes without a resolver. */
export function urlOf({ identifier, scheme }: Identified): string | undefined {
  const resolve = RESOLVERS[scheme ?? ''];
  const url = resolve?.(identifier);
  return url !== undefined && /^https?:\/\/[^\s<>"{}|\\^`]+$/.test(url) ? url : undefined;
}

const RESOLVERS: Readonly<Record<string, (id: string) => string>> = {
  ark: (id) => `https://n2t.net/${id}`,
  arxiv: (id) => `https://arxiv.org/abs/${id.replace(/^arxiv:/i, '')}`,
  doi: doiUrl,
  gnd: (id) => `https://d-nb.info/gnd/${id.replace(/^gnd:/i, '')}`,
  handle: (id) => `https://hdl.handle.net/${id}`,
  isni: (id) => `https://isni.org/isni/${id.replace(/\s/g, '')}`,
  orcid: (id) => `https://orcid.org/${id}`,
  pmid: (id) => `https://pubmed.ncbi.nlm.nih.gov/${id}`,
  purl: (id) => id,
  ror: (id) => `https://ror.org/${id.replace(/^https:\/\/ror\.org\//, '')}`,
  url: (id) => id,
  w3id: (id) => id,
};

/** Removes members without a value, and empty lists. */
export function compact<Value extends object>(value: Value): Partial<Value> {
  const present = Object.entries(value).filter(
    ([, member]) => member !== undefined && member !== '' && !(Array.isArray(member) && member.length === 0),
  );
  return Object.fromEntries(present) as Partial<Value>;
}

function nonEmpty(text: string): string | undefined {
  return text === '' ? undefined : text;
}

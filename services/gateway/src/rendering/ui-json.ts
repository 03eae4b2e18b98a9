const STYLES = { medium: 'short', long: 'long' } as const;

/**
 * An EDTF date or interval of level 0 in English: `Jun 1, 2020` and `June 1, 2020`, `June 2020`, `2020`, `June 1 – 5,
 * 2020`. Invalid dates, which drafts may contain, have no readable form.
 */
export function readableDate(edtf: unknown, style: keyof typeof STYLES): string | undefined {
  if (typeof edtf !== 'string') return undefined;
  const [start, end, ...rest] = edtf.split('/').map((part) => momentOf(part.trim()));
  if (start === undefined || rest.length > 0) return undefined;
  const { month, day } = end === undefined || start.precision < end.precision ? start.parts : end.parts;
  const format = new Intl.DateTimeFormat('en', {
    year: 'numeric',
    ...(month ? { month: STYLES[style] } : {}),
    ...(day ? { day: 'numeric' } : {}),
    timeZone: 'UTC',
  });
  if (!edtf.includes('/')) return format.format(start.at);
  return end === undefined ? undefined : format.formatRange(start.at, end.at);
}

/** The day of an instant, in English: `November 21, 2026`. */
export function readableDay(instant: unknown): string | undefined {
  return typeof instant === 'string' ? readableDate(instant.slice(0, 10), 'long') : undefined;
}

interface Moment {
  at: Date;
  precision: number;
  parts: { month: boolean; day: boolean };
}

function momentOf(text: string): Moment | undefined {
  const [, year, month, day] = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?$/.exec(text) ?? [];
  if (year === undefined) return undefined;
  const at = new Date(`${year}-${month ?? '01'}-${day ?? '01'}T00:00:00Z`);
  if (Number.isNaN(at.getTime())) return undefined;
  const parts = { month: month !== undefined, day: day !== undefined };
  return { at, precision: Number(parts.month) + Number(parts.day), parts };
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Adds the members of the vendor media type to entities: `ui` in every entity of a body, which is an entity or a listing.
 * Other bodies stay unchanged.
 */
export function withUi(body: unknown): unknown {
  const { hits: listing } = object(body);
  const { hits } = object(listing);
  if (Array.isArray(hits)) return { ...object(body), hits: { ...object(listing), hits: hits.map(withUi) } };
  const entity = object(body);
  return 'parent' in entity && 'metadata' in entity ? { ...entity, ui: uiOf(entity) } : body;
}

/** An entity as a page shows it, in English: texts instead of codes, affiliations numbered, dates in words. */
function uiOf(entity: Json): Json {
  const metadata = object(entity['metadata']);
  const { publication_date: date, description, version, creators, contributors } = metadata;
  const access = object(entity['access']);
  return present({
    publication_date_l10n_medium: readableDate(date, 'medium'),
    publication_date_l10n_long: readableDate(date, 'long'),
    created_date_l10n_long: readableDay(entity['created']),
    updated_date_l10n_long: readableDay(entity['updated']),
    resource_type: termOf(metadata['resource_type']),
    additional_titles: listOf(metadata['additional_titles'], titled),
    additional_descriptions: listOf(metadata['additional_descriptions'], titled),
    custom_fields: entity['custom_fields'],
    access_status: accessStatus(access),
    creators: creators === undefined ? undefined : peopleOf('creators', creators),
    contributors: contributors === undefined ? undefined : peopleOf('contributors', contributors),
    languages: listOf(metadata['languages'], termOf),
    description_stripped: typeof description === 'string' ? withoutTags(description) : undefined,
    version: version ?? `v${object(entity['versions'])['index']}`,
    rights: listOf(metadata['rights'], licence),
    related_identifiers: listOf(metadata['related_identifiers'], related),
    dates: listOf(metadata['dates'], (one) => ({ ...object(one), type: termOf(object(one)['type']) })),
    funding: metadata['funding'],
    target_audiences: listOf(metadata['target_audiences'], termOf),
    geo_work_programme_activity: termOf(metadata['geo_work_programme_activity']),
    engagement_priorities: listOf(metadata['engagement_priorities'], termOf),
    is_draft: entity['is_draft'],
  });
}

/** `{id, title: {en}}` of a vocabulary as `{id, title_l10n}`. */
function termOf(term: unknown): Json | undefined {
  if (term === undefined) return undefined;
  const { id, title } = object(term);
  return present({ id, title_l10n: inEnglish(title) });
}

function titled(one: unknown): Json {
  const { type, lang, ...text } = object(one);
  return present({ ...text, type: termOf(type), lang: termOf(lang) });
}

function licence(one: unknown): Json {
  const { title, description, ...rest } = object(one);
  const { id, ...others } = rest;
  return present({
    id,
    title_l10n: inEnglish(title),
    description_l10n: inEnglish(description),
    ...others,
  });
}

function related(one: unknown): Json {
  const { relation_type: relation, resource_type: type, ...rest } = object(one);
  return present({ ...rest, relation_type: termOf(relation), resource_type: termOf(type) });
}

/** Each affiliation is named once, with a number that the people refer to. */
function peopleOf(name: 'creators' | 'contributors', people: unknown): Json {
  const numbers = new Map<string, [number: number, name: string, id: unknown]>();
  const affiliated = listOf(people, (one) => {
    const { affiliations, role, ...person } = object(one);
    const numbered = listOf(affiliations, (affiliation) => {
      const { id = null, name } = object(affiliation);
      const entry = numbers.get(String(name)) ?? [numbers.size + 1, String(name), id];
      numbers.set(entry[1], entry);
      return [entry[0], entry[1]];
    });
    return present({ ...person, role: termOf(role), affiliations: numbered });
  });
  return { [name]: affiliated ?? [], affiliations: [...numbers.values()] };
}

interface AccessTexts {
  title: string;
  icon: string;
  messageClass: string;
}

const RESTRICTED: AccessTexts = { title: 'Restricted', icon: 'ban', messageClass: 'negative' };
const ACCESS: Readonly<Record<string, AccessTexts>> = {
  open: { title: 'Open', icon: 'unlock', messageClass: '' },
  embargoed: { title: 'Embargoed', icon: 'outline clock', messageClass: 'warning' },
  'metadata-only': { title: 'Metadata-only', icon: 'tag', messageClass: '' },
};

function accessStatus(access: Json): Json {
  const id = access['status'];
  const { title, icon, messageClass } = ACCESS[String(id)] ?? RESTRICTED;
  const until = object(access['embargo'])['until'];
  const embargoDate = typeof until === 'string' ? readableDate(until, 'long') : undefined;
  return {
    id,
    title_l10n: title,
    description_l10n: accessDescription(access, embargoDate),
    icon,
    embargo_date_l10n: embargoDate ?? null,
    message_class: messageClass,
  };
}

function accessDescription({ status, record, files }: Json, embargoDate = 'a later day'): string {
  if (status === 'open') return 'The record and files are publicly accessible.';
  if (status === 'metadata-only') return 'No files are available for this record.';
  const what =
    record === 'public'
      ? 'The files are'
      : files === 'restricted'
        ? 'The record and files are'
        : 'The record is';
  return status === 'embargoed'
    ? `${what} restricted until ${embargoDate} and become public then.`
    : `${what} restricted to users with access.`;
}

const TAG = /<\/?[a-z][^<>]*>/gi;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };

/** The words of sanitised HTML. */
function withoutTags(html: string): string {
  return html.replace(TAG, '').replace(/&(amp|lt|gt|quot);/g, (entity, name) => ENTITIES[name] ?? entity);
}

function inEnglish(texts: unknown): unknown {
  const { en, ...others } = object(texts);
  return en ?? Object.values(others)[0];
}

function listOf<Item>(list: unknown, map: (item: unknown) => Item): Item[] | undefined {
  return Array.isArray(list) ? list.map(map) : undefined;
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function present(parts: Json): Json {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
}

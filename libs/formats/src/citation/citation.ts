import type { Entity, Person } from '../document/entity.ts';
import { addressOf, isPerson, labelOf, titleOf, yearOf } from '../document/fields.ts';

/** Names of citation styles as the CSL repository has them. */
export const CITATION_STYLES = ['apa', 'harvard1', 'chicago-author-date', 'ieee', 'vancouver'] as const;
export type CitationStyle = (typeof CITATION_STYLES)[number];

export function isCitationStyle(name: string): name is CitationStyle {
  return CITATION_STYLES.some((style) => style === name);
}

/** One line to cite an entity, without markup. */
export function citation(entity: Entity, style: CitationStyle): string {
  return STYLES[style](partsOf(entity));
}

interface Parts {
  authors: readonly Person[];
  year: string;
  title: string;
  version: string | undefined;
  type: string | undefined;
  publisher: string | undefined;
  address: string;
}

function partsOf(entity: Entity): Parts {
  const { metadata } = entity;
  return {
    authors: metadata.creators ?? [],
    year: yearOf(entity) ?? 'n.d.',
    title: titleOf(entity),
    version: metadata.version,
    type: labelOf(metadata.resource_type),
    publisher: metadata.publisher,
    address: addressOf(entity),
  };
}

const STYLES: Readonly<Record<CitationStyle, (parts: Parts) => string>> = {
  apa({ authors, year, title, version, type, publisher, address }) {
    const names = joined(authors.map(familyInitials), { max: 20, last: ', & ' });
    const about = version === undefined ? '' : ` (Version ${version})`;
    const kind = type === undefined ? '' : ` [${type}]`;
    return sentences(`${names} (${year})`, `${title}${about}${kind}`, publisher, address);
  },
  harvard1({ authors, year, title, version, type, publisher, address }) {
    const names = joined(authors.map(familyInitials), { max: 3, last: ' and ' });
    const about = version === undefined ? '' : `, version ${version}`;
    const kind = type === undefined ? '' : ` [${type}]`;
    return `${names} (${year}) ${title}${about}${kind}. ${publisher === undefined ? '' : `${publisher}. `}Available at: ${address}.`;
  },
  'chicago-author-date'({ authors, year, title, version, publisher, address }) {
    const [first, ...others] = authors;
    const names = [first === undefined ? '' : familyGiven(first), ...others.map(givenFamily)];
    const about = version === undefined ? undefined : `Version ${version}`;
    return sentences(
      joined(names, { max: 10, last: ', and ' }),
      year,
      `“${title}”`,
      about,
      publisher,
      address,
    );
  },
  ieee({ authors, year, title, version, publisher, address }) {
    const names = joined(authors.map(initialsFamily), { max: 6, last: ' and ' });
    const quoted = version === undefined ? `“${title},”` : `“${title}” (version ${version}),`;
    return `${[names, quoted].filter(Boolean).join(', ')} ${[publisher, year].filter(Boolean).join(', ')}. ${address}.`;
  },
  vancouver({ authors, year, title, version, publisher, address }) {
    const names = joined(authors.map(familyLetters), { max: 6, last: ', ' });
    const about = version === undefined ? '' : ` Version ${version}.`;
    return `${sentences(names, title)}${about} ${[publisher, year].filter(Boolean).join('; ')}. Available from: ${address}`;
  },
};

/** Parts as sentences; a part that ends with a mark gets no second one. */
function sentences(...parts: readonly (string | undefined)[]): string {
  const nonEmpty = parts.filter((part) => part !== undefined && part !== '');
  const closed = nonEmpty.map((part, index) =>
    index === nonEmpty.length - 1 && /^https?:/.test(part ?? '') ? part : `${part?.replace(/\.$/, '')}.`,
  );
  return closed.join(' ');
}

function joined(names: readonly string[], { max, last }: { max: number; last: string }): string {
  if (names.length === 0) return '';
  if (names.length > max) return `${names[0]} et al`;
  const [end = '', ...before] = [...names].reverse();
  return before.length === 0 ? end : `${before.reverse().join(', ')}${last}${end}`;
}

function initials(person: Person, dot: string, separator: string): string {
  const given = person.person_or_org.given_name ?? '';
  return given
    .split(/[\s.]+/)
    .filter(Boolean)
    .map((name) => `${[...name][0]}${dot}`)
    .join(separator);
}

const familyInitials = nameAs(({ family }, person) => [family, initials(person, '.', ' ')], ', ');
const initialsFamily = nameAs(({ family }, person) => [initials(person, '.', ' '), family], ' ');
const familyLetters = nameAs(({ family }, person) => [family, initials(person, '', '')], ' ');
const familyGiven = nameAs(({ family, given }) => [family, given], ', ');
const givenFamily = nameAs(({ family, given }) => [given, family], ' ');

type NameParts = Record<'family' | 'given', string | undefined>;

/** A form of the names of persons; organisations have one name. */
function nameAs(
  order: (parts: NameParts, person: Person) => (string | undefined)[],
  separator: string,
): (person: Person) => string {
  return (person) => {
    const { family_name: family, given_name: given, name = '' } = person.person_or_org;
    return isPerson(person) ? order({ family, given }, person).filter(Boolean).join(separator) : name;
  };
}

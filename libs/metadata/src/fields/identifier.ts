import { guessScheme, SCHEMES, type SchemeId } from '../identifier-schemes.ts';
import { type FieldReport, MESSAGES, type Report } from '../report.ts';
import { isObject, type JsonObject } from './field.ts';
import { list } from './list.ts';
import { type Members, recordOf } from './record-of.ts';
import { text } from './text.ts';

export const WORK_SCHEMES: readonly SchemeId[] = [
  ...([
    'ark',
    'arxiv',
    'bibcode',
    'doi',
    'ean13',
    'eissn',
    'handle',
    'igsn',
    'isbn',
    'issn',
    'istc',
  ] as const),
  ...(['lissn', 'lsid', 'pmid', 'purl', 'upc', 'url', 'urn', 'w3id', 'orcid', 'isni', 'ror', 'gnd'] as const),
];
export const PERSON_SCHEMES: readonly SchemeId[] = ['orcid', 'isni', 'gnd', 'ror'];
export const REFERENCE_SCHEMES: readonly SchemeId[] = ['isni', 'grid', 'crossreffunderid', 'other'];
export const LOCATION_SCHEMES: readonly SchemeId[] = ['wikidata', 'geonames'];

/** An identifier with its scheme, which is guessed where it is left out. */
function identifier(allowed: readonly SchemeId[]) {
  return identifierWith(allowed, {});
}

/** An identifier with the further members of its place; not `required`: those alone are enough. */
export function identifierWith<const More extends Members>(
  allowed: readonly SchemeId[],
  more: More,
  { required = true }: { required?: boolean } = {},
) {
  const members = {
    identifier: { field: text({ search: 'keyword' }) },
    scheme: { field: text({ search: 'keyword', choices: allowed }) },
    ...more,
  } as const;
  return recordOf(members, {
    whole: (checked, path, report) => checkScheme(checked, path, report, allowed, required),
  });
}

/** Identifiers of one object: at most one of each scheme. */
export function identifiers(allowed: readonly SchemeId[]) {
  const entries = list(identifier(allowed));
  return {
    ...entries,
    check(value: unknown, path: string, report: FieldReport): unknown {
      const checked = entries.check(value, path, report);
      if (Array.isArray(checked)) {
        const schemes = checked
          .map((entry) => (isObject(entry) ? entry['scheme'] : undefined))
          .filter(Boolean);
        if (new Set(schemes).size < schemes.length)
          report.add(path, 'Only one identifier per scheme is allowed.');
      }
      return checked;
    },
  };
}

function checkScheme(
  checked: JsonObject,
  path: string,
  report: Report,
  allowed: readonly SchemeId[],
  required: boolean,
): JsonObject {
  const { identifier: value, scheme } = checked;
  if (value === undefined || value === '') {
    if (required || scheme !== undefined) {
      report.add(`${path}.identifier`, MESSAGES.missing);
      if (scheme === undefined) report.add(`${path}.scheme`, MESSAGES.missing);
    }
    return checked;
  }
  if (typeof value !== 'string') return checked;
  if (scheme === undefined || scheme === '') {
    const guessed = guessScheme(value, allowed);
    if (!guessed) {
      report.add(`${path}.scheme`, 'No valid scheme recognized for identifier.');
      return checked;
    }
    return { ...checked, identifier: SCHEMES[guessed].normalise(value), scheme: guessed };
  }
  if (typeof scheme !== 'string') return checked;
  const matching = allowed.find((id) => id === scheme.toLowerCase());
  if (!matching) {
    report.add(`${path}.scheme`, 'Invalid scheme.');
    return checked;
  }
  const normalised = SCHEMES[matching].normalise(value);
  if (normalised === undefined) {
    report.add(`${path}.identifier`, `Invalid ${SCHEMES[matching].label} identifier.`);
    return checked;
  }
  return { ...checked, identifier: normalised, scheme: matching };
}

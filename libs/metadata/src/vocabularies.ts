import { readFileSync } from 'node:fs';
import { iso6393 } from 'iso-639-3';
import spdxLicenses from 'spdx-license-list';

/** One entry of a vocabulary, as `GET /api/vocabularies/{type}/{id}` shows it. */
export interface Term {
  id: string;
  /** Language code (ISO 639-1) → text. */
  title: Readonly<Record<string, string>>;
  description?: Readonly<Record<string, string>>;
  icon?: string;
  props?: Readonly<Record<string, string>>;
  tags?: readonly string[];
}

const VOCABULARY_TYPES = [
  'affiliations',
  'awards',
  'contributorsroles',
  'creatorsroles',
  'datetypes',
  'descriptiontypes',
  'engagementprioritiestypes',
  'funders',
  'geowptypes',
  'languages',
  'licenses',
  'relationtypes',
  'resourcetypes',
  'subjects',
  'targetaudiencestypes',
  'titletypes',
] as const;

export type VocabularyType = (typeof VOCABULARY_TYPES)[number];

/** Vocabularies that come whole from a package, or share another's file. */
const SOURCES: Partial<Record<VocabularyType, () => Term[]>> = {
  languages: languageTerms,
  licenses: licenseTerms,
  creatorsroles: () => termsOfFile('roles'),
  contributorsroles: () => termsOfFile('roles'),
};

const loaded = new Map<VocabularyType, ReadonlyMap<string, Term>>();

/** The entry of a vocabulary; `undefined` if it has none of that id. Read on first use. */
export function lookup(type: VocabularyType, id: string): Term | undefined {
  return vocabulary(type).get(id);
}

/** All entries of a vocabulary, in its own order. */
export function terms(type: VocabularyType): Term[] {
  return [...vocabulary(type).values()];
}

function vocabulary(type: VocabularyType): ReadonlyMap<string, Term> {
  const known = loaded.get(type);
  if (known) return known;
  const entries = (SOURCES[type] ?? (() => termsOfFile(type)))();
  const byId = new Map(entries.map((term) => [term.id, term]));
  loaded.set(type, byId);
  return byId;
}

function termsOfFile(name: string): Term[] {
  return JSON.parse(readFileSync(new URL(`../vocabularies/${name}.json`, import.meta.url), 'utf8'));
}

/** ISO 639-3, complete. */
function languageTerms(): Term[] {
  return iso6393.map(({ iso6393: id, iso6391: alpha2, name }) => ({
    id,
    title: { en: name },
    ...(alpha2 ? { props: { alpha_2: alpha2 } } : {}),
  }));
}

const ICONS: readonly (readonly [prefix: string, icon: string])[] = [
  ['cc-by-nc-nd', 'cc-by-nc-nd-icon'],
  ['cc-by-nc-sa', 'cc-by-nc-sa-icon'],
  ['cc-by-nc', 'cc-by-nc-icon'],
  ['cc-by-nd', 'cc-by-nd-icon'],
  ['cc-by-sa', 'cc-by-sa-icon'],
  ['cc-by', 'cc-by-icon'],
  ['cc0', 'cc-cc0-icon'],
];

/** The SPDX list, complete, with lower-case ids. */
function licenseTerms(): Term[] {
  const descriptions = JSON.parse(
    readFileSync(new URL('../vocabularies/license-descriptions.json', import.meta.url), 'utf8'),
  ) as Record<string, string>;
  return Object.entries(spdxLicenses).map(([spdxId, { name, url }]) => {
    const id = spdxId.toLowerCase();
    const icon = ICONS.find(([prefix]) => id.startsWith(prefix))?.[1];
    const description = descriptions[id];
    return {
      id,
      title: { en: name },
      ...(description ? { description: { en: description } } : {}),
      ...(icon ? { icon } : {}),
      props: { url, scheme: 'spdx' },
    };
  });
}

import { existsSync, mkdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { iso6393 } from 'iso-639-3';
import spdxLicenses from 'spdx-license-list';

/** One entry of a vocabulary, as `GET /api/vocabularies/{type}/{termId}` shows it. */
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

export function vocabularyTypes(): readonly VocabularyType[] {
  return VOCABULARY_TYPES;
}

export function isVocabularyType(name: string): name is VocabularyType {
  return VOCABULARY_TYPES.some((type) => type === name);
}

/** Vocabularies taken completely from a package, or from another vocabulary's file. */
const SOURCES: Partial<Record<VocabularyType, () => Term[]>> = {
  languages: languageTerms,
  licenses: licenseTerms,
  creatorsroles: () => termsOfFile('roles'),
  contributorsroles: () => termsOfFile('roles'),
};

interface Vocabulary {
  byId: ReadonlyMap<string, Term>;
  terms: readonly Term[];
  /** Ids of the operator's entries. */
  added: ReadonlySet<string>;
}

/** The vocabularies of an installation; each is read on first use. */
export interface Vocabularies {
  /** The entry of a vocabulary; undefined if the id is unknown. */
  lookup(type: VocabularyType, id: string): Term | undefined;
  /** Whether an entry is the operator's, and so may change at any time. */
  isAddition(type: VocabularyType, id: string): boolean;
  /** All entries of a vocabulary, in its own order, the operator's last; the same array until its files change. */
  terms(type: VocabularyType): readonly Term[];
}

/** The vocabularies of this release, without entries of an operator. */
export const RELEASED_VOCABULARIES: Vocabularies = cached(() => []).vocabularies;

/**
 * The vocabularies of this release with the operator's entries: every `<type>.json` in a folder, in the form of this
 * library's own files. An entry replaces that of the release with the same id. Files that change are read again. A file
 * that cannot be read is reported and counts as empty. An empty name means no folder.
 */
export function openVocabularies(
  folder: string,
  onProblem: (problem: Error) => void,
): { vocabularies: Vocabularies; stop(): void } {
  if (folder === '') return { vocabularies: RELEASED_VOCABULARIES, stop: () => undefined };
  mkdirSync(folder, { recursive: true });
  const { vocabularies, invalidate } = cached((type) => addedTerms(join(folder, `${type}.json`), onProblem));
  const watcher = watch(folder, { persistent: false }, invalidate);
  return { vocabularies, stop: () => watcher.close() };
}

function cached(additions: (type: VocabularyType) => Term[]): {
  vocabularies: Vocabularies;
  invalidate(): void;
} {
  const loaded = new Map<VocabularyType, Vocabulary>();
  const vocabulary = (type: VocabularyType): Vocabulary => {
    const found = loaded.get(type) ?? load(type, additions(type));
    loaded.set(type, found);
    return found;
  };
  return {
    vocabularies: {
      lookup: (type, id) => vocabulary(type).byId.get(id),
      isAddition: (type, id) => vocabulary(type).added.has(id),
      terms: (type) => vocabulary(type).terms,
    },
    invalidate: () => loaded.clear(),
  };
}

function load(type: VocabularyType, added: readonly Term[]): Vocabulary {
  const entries = [...(SOURCES[type] ?? (() => termsOfFile(type)))(), ...added];
  const byId = new Map(entries.map((term) => [term.id, term]));
  return { byId, terms: [...byId.values()], added: new Set(added.map(({ id }) => id)) };
}

function termsOfFile(name: string): Term[] {
  return JSON.parse(readFileSync(new URL(`../vocabularies/${name}.json`, import.meta.url), 'utf8'));
}

function addedTerms(file: string, onProblem: (problem: Error) => void): Term[] {
  if (!existsSync(file)) return [];
  try {
    const found: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (Array.isArray(found) && found.every(isTerm)) return found;
    onProblem(new Error(`${file} is no list of {"id", "title": {"en"}} objects`));
  } catch (cause) {
    onProblem(new Error(`${file} cannot be read`, { cause }));
  }
  return [];
}

function isTerm(value: unknown): value is Term {
  const { id, title } = (value ?? {}) as { id?: unknown; title?: unknown };
  return typeof id === 'string' && typeof title === 'object' && title !== null && !Array.isArray(title);
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

import { existsSync, mkdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { iso6393 } from 'iso-639-3';
import spdxLicenses from 'spdx-license-list';
import { isObject } from './fields/field.ts';

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

const loaded = new Map<VocabularyType, Vocabulary>();
let additions: { folder: string; onProblem: (problem: Error) => void } | undefined;

/**
 * Adds the operator's entries: every `<type>.json` in a folder, in the form of this library's own files. An entry with an
 * id that is known already replaces it. Files that change are read again. One that cannot be read is reported and counts
 * as empty. An empty name is no folder.
 */
export function useVocabularyFolder(folder: string, onProblem: (problem: Error) => void): { stop(): void } {
  if (folder === '') return { stop: () => undefined };
  mkdirSync(folder, { recursive: true });
  additions = { folder, onProblem };
  loaded.clear();
  const watcher = watch(folder, { persistent: false }, () => loaded.clear());
  return {
    stop() {
      watcher.close();
      additions = undefined;
      loaded.clear();
    },
  };
}

/** The entry of a vocabulary; `undefined` if it has none of that id. Read on first use. */
export function lookup(type: VocabularyType, id: string): Term | undefined {
  return vocabulary(type).byId.get(id);
}

/** Whether an entry is the operator's, and so may change at any time. */
export function isAddition(type: VocabularyType, id: string): boolean {
  return vocabulary(type).added.has(id);
}

/** All entries of a vocabulary, in its own order, the operator's last; the same array until its files change. */
export function terms(type: VocabularyType): readonly Term[] {
  return vocabulary(type).terms;
}

function vocabulary(type: VocabularyType): Vocabulary {
  const cached = loaded.get(type);
  if (cached) return cached;
  const added = addedTerms(type);
  const entries = [...(SOURCES[type] ?? (() => termsOfFile(type)))(), ...added];
  const byId = new Map(entries.map((term) => [term.id, term]));
  const found = { byId, terms: [...byId.values()], added: new Set(added.map(({ id }) => id)) };
  loaded.set(type, found);
  return found;
}

function termsOfFile(name: string): Term[] {
  return JSON.parse(readFileSync(new URL(`../vocabularies/${name}.json`, import.meta.url), 'utf8'));
}

function addedTerms(type: VocabularyType): Term[] {
  if (additions === undefined) return [];
  const file = join(additions.folder, `${type}.json`);
  if (!existsSync(file)) return [];
  try {
    const found: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (Array.isArray(found) && found.every(isTerm)) return found;
    additions.onProblem(new Error(`${file} is no list of {"id", "title": {"en"}} objects`));
  } catch (cause) {
    additions.onProblem(new Error(`${file} cannot be read`, { cause }));
  }
  return [];
}

function isTerm(value: unknown): value is Term {
  return isObject(value) && typeof value['id'] === 'string' && isObject(value['title']);
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

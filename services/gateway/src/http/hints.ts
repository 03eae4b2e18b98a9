import type { Term, Vocabularies, VocabularyType } from '@kr/metadata';

export function wordsOf(text: string): string[] {
  return folded(text).match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Without case and accents. */
export function folded(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

interface Names {
  /** Ids by titles and two-letter codes. */
  exact: ReadonlyMap<string, string>;
  /** Words of ids and titles with the id, in order. */
  words: readonly (readonly [word: string, id: string])[];
}

const namesByTerms = new WeakMap<readonly Term[], Names>();

const MAX_LENGTH = 100;
/** Minimum number of shared characters at the start of two names; also at least half of the text. */
const MIN_SHARED = 2;

/** The id of a term that the text may mean: one of the same name, or with a word that begins as the text does. */
export function similarTerm(
  vocabularies: Vocabularies,
  type: VocabularyType,
  text: string,
): string | undefined {
  const { exact, words } = namesOf(vocabularies.terms(type));
  const name = nameOf(text.slice(0, MAX_LENGTH));
  const same = exact.get(name);
  if (same !== undefined) return same;
  for (let length = name.length; length >= Math.max(MIN_SHARED, name.length / 2); length -= 1) {
    const prefix = name.slice(0, length);
    const [word = '', id] = words[firstAtLeast(words, prefix)] ?? [];
    if (word.startsWith(prefix)) return id;
  }
  return undefined;
}

/** As its words, so that `CC BY 4.0` is `cc-by-4.0`. */
function nameOf(text: string): string {
  return wordsOf(text).join(' ');
}

function namesOf(all: readonly Term[]): Names {
  const names = namesByTerms.get(all) ?? {
    exact: new Map(
      all.flatMap(({ id, title, props }) =>
        [id, ...Object.values(title), props?.['alpha_2'] ?? id].map((name) => [nameOf(name), id] as const),
      ),
    ),
    words: all
      .flatMap(({ id, title }) =>
        [id, ...Object.values(title)].flatMap((name) =>
          [nameOf(name), ...wordsOf(name)].map((word) => [word, id] as const),
        ),
      )
      .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)),
  };
  namesByTerms.set(all, names);
  return names;
}

function firstAtLeast(words: Names['words'], prefix: string): number {
  let [low, high] = [0, words.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((words[middle]?.[0] ?? '') < prefix) low = middle + 1;
    else high = middle;
  }
  return low;
}

type Hint = (found: string[], field: string, vocabularies: Vocabularies) => string | undefined;

/** Vocabularies by the end of the path of a field. */
const VOCABULARY_OF: readonly (readonly [RegExp, VocabularyType])[] = [
  [/creators\.\d+\.role$/, 'creatorsroles'],
  [/contributors\.\d+\.role$/, 'contributorsroles'],
  [/additional_titles\.\d+\.type$/, 'titletypes'],
  [/additional_descriptions\.\d+\.type$/, 'descriptiontypes'],
  [/dates\.\d+\.type$/, 'datetypes'],
  [/relation_type$/, 'relationtypes'],
  [/resource_type$/, 'resourcetypes'],
  [/languages\.\d+$|\.lang$/, 'languages'],
  [/rights\.\d+$/, 'licenses'],
  [/subjects\.\d+$/, 'subjects'],
  [/target_audiences\.\d+$/, 'targetaudiencestypes'],
  [/geo_work_programme_activity$/, 'geowptypes'],
  [/engagement_priorities\.\d+$/, 'engagementprioritiestypes'],
  [/affiliations\.\d+$/, 'affiliations'],
  [/funder$/, 'funders'],
  [/award$/, 'awards'],
];

/**
 * Next steps for messages whose text is fixed, because clients of the original API compare it. Keyed by the whole message and its
 * field (empty for the message of the error itself).
 */
const HINTS: readonly (readonly [message: RegExp, hint: Hint])[] = [
  [/^Invalid input type\.$/, (_, field) => `Expected ${expectedAt(field)}.`],
  [/^Invalid value (.+)\.$/, ([, id = ''], field, vocabularies) => unknownTerm(id, field, vocabularies)],
  [
    /^Invalid value\. Choose one of \[(.+)\]\.$/,
    ([, choices = '']) => `Must be one of: ${choices.replaceAll("'", '')}.`,
  ],
  [
    /^Revision id provided\((.+)\) doesn't match record's one\((\d+)\)$/,
    ([, requested = '', current = '']) =>
      `The record is at revision ${current}, not ${requested}; read it again.`,
  ],
  [/^Not a valid datetime\.$/, () => 'Write a date and time as 2026-12-31T00:00:00Z.'],
  [/^No secret link found with the given ID\.$/, () => 'There is no such access link.'],
  [/^The persistent identifier is not registered\.$/, () => 'This is a draft that has not been published.'],
  [
    /^A PID already exists for type (\w+)$/,
    ([, scheme = '']) => `The draft already has an identifier of type ${scheme}.`,
  ],
  [
    /^Not valid coordinates of a (?:Multi)?Polygon\.$/,
    () =>
      'The first and last position of a ring must be the same, and a ring has at least four positions of longitude and latitude.',
  ],
  [/^Not valid coordinates of a (\w+)\.$/, () => 'A position is [longitude, latitude] in degrees.'],
  [/^An access permission level is required$/, () => 'permission is required: view, preview or edit.'],
];

/** The caller's next step after a message; undefined if the message contains it. */
export function hintOf(message: string, field: string, vocabularies: Vocabularies): string | undefined {
  for (const [pattern, hint] of HINTS) {
    const found = pattern.exec(message);
    if (found !== null) return hint(found, field, vocabularies);
  }
  return undefined;
}

/** A problem with one field, with a hint if there is one. */
export function withHint<Problem extends { field: string; messages: readonly string[] }>(
  problem: Problem,
  vocabularies: Vocabularies,
): Problem & { hint?: string } {
  const hint = problem.messages
    .map((message) => hintOf(message, problem.field, vocabularies))
    .find((text) => text !== undefined);
  return hint === undefined ? problem : { ...problem, hint };
}

function expectedAt(field: string): string {
  if (/(?:^|\.)(?:records|resources)\.\d+(?:\._schema)?$/.test(field)) return 'an object such as {"id": "…"}';
  if (VOCABULARY_OF.some(([path]) => path.test(field.replace(/\._schema$/, ''))))
    return 'an object such as {"id": "dataset"}';
  return 'a JSON object';
}

function unknownTerm(id: string, field: string, vocabularies: Vocabularies): string | undefined {
  const [, type] = VOCABULARY_OF.find(([path]) => path.test(field)) ?? [];
  if (type === undefined) return undefined;
  const similar = similarTerm(vocabularies, type, id);
  const meant = similar === undefined ? '' : `; did you mean "${similar}"?`;
  return `"${id}" is not in the vocabulary ${type}${meant}${meant === '' ? '.' : ''}`;
}

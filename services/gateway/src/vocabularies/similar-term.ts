import { type Term, terms, type VocabularyType } from '@kr/metadata';
import { wordsOf } from './words.ts';

interface Names {
  /** Ids by titles and two-letter codes. */
  exact: ReadonlyMap<string, string>;
  /** Words of ids and titles with the id, in order. */
  words: readonly (readonly [word: string, id: string])[];
}

const known = new WeakMap<readonly Term[], Names>();

const MAX_LENGTH = 100;
/** Characters at the beginning that two names share at least, and half of the text. */
const MIN_SHARED = 2;

/** The id of a term that the text may mean: one of the same name, or with a word that begins as the text does. */
export function similarTerm(type: VocabularyType, text: string): string | undefined {
  const { exact, words } = namesOf(terms(type));
  const wanted = nameOf(text.slice(0, MAX_LENGTH));
  const same = exact.get(wanted);
  if (same !== undefined) return same;
  for (let length = wanted.length; length >= Math.max(MIN_SHARED, wanted.length / 2); length -= 1) {
    const prefix = wanted.slice(0, length);
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
  const made = known.get(all) ?? {
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
  known.set(all, made);
  return made;
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

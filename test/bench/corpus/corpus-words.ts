import { seededRandom } from '@kr/testbed';

/** Texts of a corpus that is the same for the same seed: few words are in most texts, most words in few. */
export interface CorpusWords {
  /** A number of words in a row. */
  text(words: number): string;
  /** The word that is in most texts. */
  readonly commonest: string;
}

const VOCABULARY = 20_000;
const SYLLABLES = ['ba', 'del', 'fi', 'gor', 'hu', 'kan', 'lo', 'mir', 'nes', 'pu', 'ra', 'sol', 'tev', 'wy'];
/** How much commoner the first words of the vocabulary are than the last. */
const SKEW = 4;

export function corpusWords(seed: number): CorpusWords {
  const random = seededRandom(seed);
  const word = () => wordOf(Math.floor(VOCABULARY * random() ** SKEW));
  return {
    text: (words) => Array.from({ length: words }, word).join(' '),
    commonest: wordOf(0),
  };
}

/** Its number in syllables. */
function wordOf(number: number): string {
  let left = number + SYLLABLES.length;
  let word = '';
  while (left > 0) {
    word += SYLLABLES[left % SYLLABLES.length];
    left = Math.floor(left / SYLLABLES.length);
  }
  return word;
}

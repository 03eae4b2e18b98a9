import type { FieldTerms } from '../../documents/index-row.ts';
import { allFieldsLexeme, fieldLexeme, fitsIndex } from '../../documents/text-tokens.ts';

/** Distance between the words of two values, so that no phrase reaches from one into the next. */
const GAP = 20;
/** Limits of the type: positions after the last are all the same, and a vector has at most 1 MiB. */
const MAX_POSITION = 16_383;
const MAX_POSITIONS = 255;
const MAX_BYTES = 700_000;
/** A position is 14 bits, below those of its weight. */
const POSITION_BITS = 14;
const WEIGHTS = { D: 0, C: 1, B: 2, A: 3 } as const;
/** The size of one lexeme beside its text and positions, at least that of the binary form. */
const LEXEME_BYTES = 8;

export interface TermsVector {
  /** A tsvector in the binary form of Postgres, which Postgres need not parse. */
  vector: Buffer;
  /** The words in it, of any field. */
  words: readonly string[];
}

/** The tsvector of a document, value by value. If it is too large, it has only the first fields, the most important ones. */
export function* termsVector(terms: readonly FieldTerms[]): Generator<void, TermsVector> {
  const vector = new Vector();
  for (const { field, exact, weight, isText, words } of terms) {
    for (const lexeme of exact) vector.addLexeme(lexeme);
    vector.addWords(words, weight ?? 'D', [
      ...(weight === null ? [] : [{ name: '', lexemeOf: allFieldsLexeme }]),
      ...(isText ? [{ name: field, lexemeOf: (word: string) => fieldLexeme(field, word) }] : []),
    ]);
    yield;
  }
  return { vector: vector.toBinary(), words: [...vector.words] };
}

/** Where words follow each other: one field, or all of them together. */
interface WordSpace {
  name: string;
  lexemeOf: (word: string) => string;
}

class Vector {
  readonly words = new Set<string>();
  readonly #positions = new Map<string, number[]>();
  readonly #next = new Map<string, number>();
  #bytes = 0;

  addLexeme(lexeme: string): void {
    if (!this.#positions.has(lexeme)) this.#open(lexeme);
  }

  /** Each space has separate positions. A word goes into all spaces before the next word, so they fill up evenly. */
  addWords(words: readonly string[], weight: keyof typeof WEIGHTS, spaces: readonly WordSpace[]): void {
    const weightBits = WEIGHTS[weight] << POSITION_BITS;
    const starts = spaces.map(({ name }) => this.#next.get(name) ?? 1);
    for (const [offset, word] of words.entries()) {
      for (const [index, { lexemeOf }] of spaces.entries()) {
        const position = Math.min((starts[index] ?? 1) + offset, MAX_POSITION);
        if (this.#addPosition(lexemeOf(word), position, weightBits)) this.words.add(word);
      }
    }
    for (const [index, { name }] of spaces.entries())
      this.#next.set(name, (starts[index] ?? 1) + words.length + GAP);
  }

  /** Whether the vector has the lexeme now. */
  #addPosition(lexeme: string, position: number, weightBits: number): boolean {
    const positions = this.#positions.get(lexeme) ?? this.#open(lexeme);
    if (positions === undefined) return false;
    if (positions.length < MAX_POSITIONS && positionOf(positions.at(-1)) !== position) {
      positions.push(weightBits | position);
      this.#bytes += 2;
    }
    return true;
  }

  #open(lexeme: string): number[] | undefined {
    const bytes = Buffer.byteLength(lexeme) + LEXEME_BYTES;
    if (this.#bytes + bytes > MAX_BYTES || !fitsIndex(lexeme)) return undefined;
    this.#bytes += bytes;
    const positions: number[] = [];
    this.#positions.set(lexeme, positions);
    return positions;
  }

  /** The format of `tsvectorrecv`: the number of lexemes, then each with a zero byte, the number of its positions, and these. */
  toBinary(): Buffer {
    const binary = Buffer.allocUnsafe(4 + this.#bytes);
    let end = binary.writeInt32BE(this.#positions.size);
    // Postgres sorts them too, but the padding stays that of the received order, and equal vectors would differ.
    for (const lexeme of [...this.#positions.keys()].sort()) {
      const positions = this.#positions.get(lexeme) ?? [];
      end += binary.write(lexeme, end);
      end = binary.writeUInt8(0, end);
      end = binary.writeUInt16BE(positions.length, end);
      for (const position of positions) end = binary.writeUInt16BE(position, end);
    }
    return binary.subarray(0, end);
  }
}

function positionOf(weighted: number | undefined): number | undefined {
  return weighted === undefined ? undefined : weighted & MAX_POSITION;
}

import { documentFields, type FieldValue } from '../../index/document-fields.ts';
import type { FieldWeight } from '../../index/fields.ts';
import { type FieldIndexing, fieldIndexing, keptByField } from '../../index/fields.ts';
import {
  allFieldsLexeme,
  fieldLexeme,
  fitsIndex,
  htmlText,
  LONGEST_KEYWORD,
  storableText,
  textTokens,
} from '../../index/text-tokens.ts';

/** Words between two values, so that no phrase reaches from one into the next. */
const GAP = 20;
/** Limits of the type: positions beyond the last are all the same, and a vector has at most 1 MiB. */
const LAST_POSITION = 16_383;
const MOST_POSITIONS = 255;
const MOST_BYTES = 700_000;
/** A position is 14 bits, below those of its weight. */
const POSITION_BITS = 14;
const WEIGHTS = { D: 0, C: 1, B: 2, A: 3 } as const;
/** Of one value, so that a huge one leaves room for the others. */
const MOST_WORDS = 10_000;
/** The size of one lexeme beside its text and positions, at least that of the binary form. */
const LEXEME_BYTES = 8;

export interface DocumentTerms {
  /** A tsvector in the binary form of Postgres, which need not be taken apart once more. */
  vector: Buffer;
  /** The words of a document, in any field. */
  words: ReadonlySet<string>;
}

/**
 * The `terms` of a document. One too large for a tsvector keeps its first fields, which are the most
 * important.
 */
export function documentTerms(document: Readonly<Record<string, unknown>>): DocumentTerms {
  const work = termsByValue(document);
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** As `documentTerms`, value by value: there may be a thousand of them, and between two others can have their turn. */
export function* termsByValue(document: Readonly<Record<string, unknown>>): Generator<void, DocumentTerms> {
  const vector = new Vector();
  for (const field of documentFields(document)) {
    addField(vector, field);
    yield;
  }
  return { vector: vector.toBinary(), words: vector.words };
}

function addField(vector: Vector, { field, value }: FieldValue): void {
  const { exists, weight, isText, isHtml, keywordField, spaces } = indexingOf(field);
  for (const lexeme of exists) vector.mark(lexeme);
  if (keywordField !== undefined) {
    const keyword = storableText(value);
    if (keyword !== '' && keyword.length <= LONGEST_KEYWORD) vector.mark(fieldLexeme(keywordField, keyword));
  }
  if (!isText && weight === null) return;
  const tokens = textTokens(isHtml ? htmlText(value) : value).slice(0, MOST_WORDS);
  vector.addWords(tokens, weight, spaces);
}

interface VectorIndexing extends FieldIndexing {
  spaces: readonly WordSpace[];
}

const indexingOf = keptByField((field): VectorIndexing => {
  const indexing = fieldIndexing(field);
  return {
    ...indexing,
    spaces: [
      ...(indexing.weight === null ? [] : [{ name: '', lexemeOf: allFieldsLexeme }]),
      ...(indexing.isText ? [{ name: field, lexemeOf: (token: string) => fieldLexeme(field, token) }] : []),
    ],
  };
});

/** Where words follow each other: one field, or all of them together. */
interface WordSpace {
  name: string;
  lexemeOf: (token: string) => string;
}

class Vector {
  readonly words = new Set<string>();
  readonly #positions = new Map<string, number[]>();
  readonly #next = new Map<string, number>();
  #bytes = 0;

  mark(lexeme: string): void {
    if (!this.#positions.has(lexeme)) this.#open(lexeme);
  }

  /**
   * Each space has separate positions; a word goes into all of them before the next, so they fill up evenly.
   */
  addWords(tokens: readonly string[], weight: FieldWeight, spaces: readonly WordSpace[]): void {
    const weightBits = WEIGHTS[weight ?? 'D'] << POSITION_BITS;
    const starts = spaces.map(({ name }) => this.#next.get(name) ?? 1);
    for (const [offset, token] of tokens.entries()) {
      for (const [index, { lexemeOf }] of spaces.entries()) {
        const position = Math.min((starts[index] ?? 1) + offset, LAST_POSITION);
        if (this.#addPosition(lexemeOf(token), position, weightBits)) this.words.add(token);
      }
    }
    for (const [index, { name }] of spaces.entries())
      this.#next.set(name, (starts[index] ?? 1) + tokens.length + GAP);
  }

  /** Whether the vector has the lexeme now. */
  #addPosition(lexeme: string, position: number, weightBits: number): boolean {
    const positions = this.#positions.get(lexeme) ?? this.#open(lexeme);
    if (positions === undefined) return false;
    if (positions.length < MOST_POSITIONS && positionOf(positions.at(-1)) !== position) {
      positions.push(weightBits | position);
      this.#bytes += 2;
    }
    return true;
  }

  #open(lexeme: string): number[] | undefined {
    const bytes = Buffer.byteLength(lexeme) + LEXEME_BYTES;
    if (this.#bytes + bytes > MOST_BYTES || !fitsIndex(lexeme)) return undefined;
    this.#bytes += bytes;
    const positions: number[] = [];
    this.#positions.set(lexeme, positions);
    return positions;
  }

  /** As `tsvectorrecv` reads it: how many lexemes, then each with a zero behind it, how many positions, and these. */
  toBinary(): Buffer {
    const binary = Buffer.allocUnsafe(4 + this.#bytes);
    let end = binary.writeInt32BE(this.#positions.size);
    // How much space lies between them, which counts where vectors are compared, depends on their order.
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
  return weighted === undefined ? undefined : weighted & LAST_POSITION;
}

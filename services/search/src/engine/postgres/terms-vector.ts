import { documentFields, type FieldValue } from '../../index/document-fields.ts';
import { type FieldWeight, fieldType, fieldWeight, hasKeywordTwin, isHtmlField } from '../../index/fields.ts';
import { htmlText, textTokens } from '../../index/text-tokens.ts';
import {
  allFieldsLexeme,
  existsLexeme,
  fieldLexeme,
  fitsIndex,
  LONGEST_KEYWORD,
  quoteLexeme,
} from './lexemes.ts';
import { storableText } from './parameters.ts';

/** Words between two values, so that no phrase reaches from one into the next. */
const GAP = 20;
/** Limits of the type: positions beyond the last are all the same, and a vector has at most 1 MiB. */
const LAST_POSITION = 16_383;
const MOST_POSITIONS = 255;
const MOST_BYTES = 700_000;
/** Of one value, so that a huge one leaves room for the others. */
const MOST_WORDS = 10_000;
/** What one lexeme takes beside its text and positions. */
const LEXEME_BYTES = 8;

export interface DocumentTerms {
  /** A tsvector literal. */
  vector: string;
  /** The words in it, whatever field they are of. */
  words: ReadonlySet<string>;
}

/** The `terms` of a document. One too large for a tsvector keeps its first fields, which are those that matter most. */
export function documentTerms(document: Readonly<Record<string, unknown>>): DocumentTerms {
  const vector = new Vector();
  for (const field of documentFields(document)) addField(vector, field);
  return { vector: vector.toString(), words: vector.words };
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

/** How the values of one field are indexed. */
interface FieldIndexing {
  /** The lexemes of `a.b.c`, `a.b` and `a`. */
  exists: readonly string[];
  weight: FieldWeight;
  isText: boolean;
  isHtml: boolean;
  /** The field that holds the whole value; undefined when none does. */
  keywordField: string | undefined;
  spaces: readonly WordSpace[];
}

/** Documents have some hundred fields, and nearly all of them the same; those beyond are read each time. */
const MOST_KNOWN = 1_000;
const known = new Map<string, FieldIndexing>();

function indexingOf(field: string): FieldIndexing {
  const before = known.get(field);
  if (before !== undefined) return before;
  const indexing = readIndexing(field);
  if (known.size < MOST_KNOWN) known.set(field, indexing);
  return indexing;
}

function readIndexing(field: string): FieldIndexing {
  const weight = fieldWeight(field);
  const isText = fieldType(field) === 'text';
  return {
    exists: pathPrefixes(field).map(existsLexeme),
    weight,
    isText,
    isHtml: isHtmlField(field),
    keywordField: isText ? (hasKeywordTwin(field) ? `${field}.keyword` : undefined) : field,
    spaces: [
      ...(weight === null ? [] : [{ name: '', lexemeOf: allFieldsLexeme }]),
      ...(isText ? [{ name: field, lexemeOf: (token: string) => fieldLexeme(field, token) }] : []),
    ],
  };
}

/** `a.b.c` → `a.b.c`, `a.b`, `a`. */
function pathPrefixes(field: string): string[] {
  const parts = field.split('.');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('.'));
}

/** Where words follow each other: one field, or all of them together. */
interface WordSpace {
  name: string;
  lexemeOf: (token: string) => string;
}

class Vector {
  readonly words = new Set<string>();
  readonly #positions = new Map<string, string[]>();
  readonly #next = new Map<string, number>();
  #bytes = 0;

  mark(lexeme: string): void {
    if (!this.#positions.has(lexeme)) this.#open(lexeme);
  }

  /** Each space has positions of its own; a word goes into all of them before the next, so they fill up alike. */
  addWords(tokens: readonly string[], weight: FieldWeight, spaces: readonly WordSpace[]): void {
    const starts = spaces.map(({ name }) => this.#next.get(name) ?? 1);
    for (const [offset, token] of tokens.entries()) {
      for (const [index, { lexemeOf }] of spaces.entries()) {
        const position = Math.min((starts[index] ?? 1) + offset, LAST_POSITION);
        if (this.#addPosition(lexemeOf(token), `${position}${weight ?? 'D'}`)) this.words.add(token);
      }
    }
    for (const [index, { name }] of spaces.entries())
      this.#next.set(name, (starts[index] ?? 1) + tokens.length + GAP);
  }

  /** Whether the vector has the lexeme now. */
  #addPosition(lexeme: string, position: string): boolean {
    const positions = this.#positions.get(lexeme) ?? this.#open(lexeme);
    if (positions === undefined) return false;
    if (positions.length < MOST_POSITIONS && positions.at(-1) !== position) {
      positions.push(position);
      this.#bytes += 2;
    }
    return true;
  }

  #open(lexeme: string): string[] | undefined {
    const bytes = Buffer.byteLength(lexeme) + LEXEME_BYTES;
    if (this.#bytes + bytes > MOST_BYTES || !fitsIndex(lexeme)) return undefined;
    this.#bytes += bytes;
    const positions: string[] = [];
    this.#positions.set(lexeme, positions);
    return positions;
  }

  toString(): string {
    return [...this.#positions]
      .map(
        ([lexeme, positions]) =>
          quoteLexeme(lexeme) + (positions.length > 0 ? `:${positions.join(',')}` : ''),
      )
      .join(' ');
  }
}

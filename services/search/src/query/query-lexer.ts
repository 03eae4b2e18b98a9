import { syntaxError } from './query-error.ts';
import type { WildcardPart } from './query-tree.ts';

export type Token =
  | { type: 'word'; parts: readonly WildcardPart[]; position: number; end: number }
  | { type: 'phrase'; text: string; position: number; end: number }
  | {
      type: 'range';
      lower: string;
      upper: string;
      opens: '[' | '{';
      closes: ']' | '}';
      lowerPosition: number;
      upperPosition: number;
      position: number;
      end: number;
    }
  | {
      type: 'comparison';
      operator: '>' | '>=' | '<' | '<=';
      value: string;
      valuePosition: number;
      position: number;
      end: number;
    }
  | { type: 'and' | 'or' | 'not' | 'plus' | 'minus' | '(' | ')' | ':'; position: number; end: number }
  | { type: 'boost'; value: number | null; position: number; end: number }
  | { type: 'tilde'; value: number | null; position: number; end: number };

const SPACE = /\s/u;
/** Characters that end a word unless escaped. A slash inside one is literal, so DOIs and paths need no quotes. */
const ENDS_WORD = /[\s()[\]{}"^~:]/u;
const ENDS_BOUND = /[\s\]}]/u;
const ENDS_COMPARED = /[\s()^]/u;
const WEB_ADDRESS = /^https?:\/\/[^\s()[\]{}"^~*?]+/iu;
const NUMBER_AFTER_SIGN = /^\d+(?:\.\d+)?/u;

/** Splits a query into tokens; every token is read once, so the work is linear in the text. */
export function tokenizeQuery(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    if (SPACE.test(text.charAt(at))) {
      at += 1;
      continue;
    }
    const token = readToken(text, at, tokens.at(-1));
    tokens.push(token);
    at = token.end;
  }
  return tokens;
}

function readToken(text: string, at: number, before: Token | undefined): Token {
  const here = text.charAt(at);
  const next = text.charAt(at + 1);
  switch (here) {
    case '(':
    case ')':
    case ':':
      return { type: here, position: at, end: at + 1 };
    case '"':
      return readPhrase(text, at);
    case '[':
    case '{':
      return readRange(text, at, here);
    case '^':
      return readNumber(text, at, 'boost');
    case '~':
      return readNumber(text, at, 'tilde');
    case '+':
      return { type: 'plus', position: at, end: at + 1 };
    case '-':
    case '!':
      return { type: here === '-' ? 'minus' : 'not', position: at, end: at + 1 };
    case '&':
      if (next === '&') return { type: 'and', position: at, end: at + 2 };
      break;
    case '|':
      if (next === '|') return { type: 'or', position: at, end: at + 2 };
      break;
    case '/':
      throw syntaxError('Regular expressions are not supported: unescaped "/"', at);
    case ']':
    case '}':
      throw syntaxError(`Unexpected "${here}"`, at);
    case '>':
    case '<':
      if (before?.type === ':') return readComparison(text, at, next === '=' ? `${here}=` : here);
      break;
    default:
  }
  return readWord(text, at);
}

function readWord(text: string, start: number): Token {
  const address = WEB_ADDRESS.exec(text.slice(start))?.[0];
  if (address !== undefined) {
    return { type: 'word', parts: [{ literal: address }], position: start, end: start + address.length };
  }
  const parts: WildcardPart[] = [];
  let literal = '';
  let isPlain = true;
  let at = start;
  const flush = () => {
    if (literal !== '') parts.push({ literal });
    literal = '';
  };
  while (at < text.length) {
    const here = text.charAt(at);
    if (here === '\\') {
      if (at + 1 === text.length) throw syntaxError('Nothing follows the escape', at);
      literal += text.charAt(at + 1);
      isPlain = false;
      at += 2;
      continue;
    }
    if (ENDS_WORD.test(here)) break;
    if (here === '*' || here === '?') {
      flush();
      parts.push({ any: here === '*' ? 'many' : 'one' });
    } else {
      literal += here;
    }
    at += 1;
  }
  flush();
  const keyword = isPlain ? KEYWORDS[text.slice(start, at)] : undefined;
  return keyword
    ? { type: keyword, position: start, end: at }
    : { type: 'word', parts, position: start, end: at };
}

const KEYWORDS: Partial<Record<string, 'and' | 'or' | 'not'>> = Object.assign(Object.create(null), {
  AND: 'and',
  OR: 'or',
  NOT: 'not',
});

function readPhrase(text: string, start: number): Token & { type: 'phrase' } {
  let phrase = '';
  let at = start + 1;
  while (at < text.length) {
    const here = text.charAt(at);
    if (here === '"') return { type: 'phrase', text: phrase, position: start, end: at + 1 };
    if (here === '\\' && at + 1 < text.length) {
      at += 1;
      phrase += text.charAt(at);
    } else {
      phrase += here;
    }
    at += 1;
  }
  throw syntaxError('The quotation mark is not closed', start);
}

function readRange(text: string, start: number, opens: '[' | '{'): Token {
  const lower = readBound(text, start + 1, start);
  const to = /^\s+TO(?=\s|$)/u.exec(text.slice(lower.end, lower.end + 64));
  if (to === null) throw syntaxError('A range needs " TO "', lower.end);
  const upper = readBound(text, lower.end + to[0].length, start);
  const gap = /^\s*/u.exec(text.slice(upper.end))?.[0].length ?? 0;
  const closes = text.charAt(upper.end + gap);
  if (closes !== ']' && closes !== '}') throw syntaxError('The range is not closed', start);
  return {
    type: 'range',
    lower: lower.text,
    upper: upper.text,
    opens,
    closes,
    lowerPosition: lower.position,
    upperPosition: upper.position,
    position: start,
    end: upper.end + gap + 1,
  };
}

/** One side of a range. */
function readBound(text: string, from: number, rangeStart: number): Value {
  const bound = readValue(text, from, ENDS_BOUND);
  if (bound !== null) return bound;
  const at = skipSpace(text, from);
  throw at >= text.length
    ? syntaxError('The range is not closed', rangeStart)
    : syntaxError('A range needs two values', at);
}

function readComparison(
  text: string,
  start: number,
  operator: (Token & { type: 'comparison' })['operator'],
): Token {
  const value = readValue(text, start + operator.length, ENDS_COMPARED);
  if (value === null) throw syntaxError(`Nothing to compare with follows "${operator}"`, start);
  return {
    type: 'comparison',
    operator,
    value: value.text,
    valuePosition: value.position,
    position: start,
    end: value.end,
  };
}

interface Value {
  text: string;
  position: number;
  end: number;
}

/** A value in quotation marks, or up to a character that ends it; times have colons, which need no escape here. */
function readValue(text: string, from: number, ends: RegExp): Value | null {
  const position = skipSpace(text, from);
  if (text.charAt(position) === '"') {
    const quoted = readPhrase(text, position);
    return { text: quoted.text, position, end: quoted.end };
  }
  let value = '';
  let at = position;
  while (at < text.length && !ends.test(text.charAt(at))) {
    if (text.charAt(at) === '\\' && at + 1 < text.length) at += 1;
    value += text.charAt(at);
    at += 1;
  }
  return at === position ? null : { text: value, position, end: at };
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && SPACE.test(text.charAt(at))) at += 1;
  return at;
}

function readNumber(text: string, start: number, type: 'boost' | 'tilde'): Token {
  const digits = NUMBER_AFTER_SIGN.exec(text.slice(start + 1, start + 12))?.[0] ?? '';
  if (type === 'boost' && digits === '') throw syntaxError('"^" needs a number', start);
  return {
    type,
    value: digits === '' ? null : Number(digits),
    position: start,
    end: start + 1 + digits.length,
  };
}

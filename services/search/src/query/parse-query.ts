import { fieldType } from '../documents/fields.ts';
import { textTokens } from '../documents/text-tokens.ts';
import { fieldPath } from './field-paths.ts';
import { syntaxError, tooComplex } from './query-error.ts';
import { type Token, tokenizeQuery } from './query-lexer.ts';
import {
  type BoolNode,
  QUERY_LIMITS,
  type QueryLimits,
  type QueryNode,
  type RangeBound,
  type RangeNode,
  type WildcardPart,
} from './query-tree.ts';

/**
 * Parses the query-string syntax that Lucene and Elasticsearch share: words, "phrases", `field:value`,
 * `field:(a b)`, `+must -not`, AND, OR, NOT, `&& || !`, wildcards, `similar~`,
 * `_exists_:field`, ranges, `^boost`, `\` escapes.
 * Clauses without an operator between them are alternatives. As there, AND makes both its sides necessary and OR
 * makes nothing necessary, so `a AND b OR c` means `+a +b c`.
 *
 * @returns null for a blank text
 * @throws ServiceError `invalid`, naming the position; code `query_too_complex` when a limit is exceeded
 */
export function parseQuery(text: string, limits: QueryLimits = QUERY_LIMITS): QueryNode | null {
  if (text.trim() === '') return null;
  if (text.length > limits.maxLength) {
    throw tooComplex(`The query is longer than ${limits.maxLength} characters`, limits.maxLength);
  }
  return new Parser(tokenizeQuery(text), text.length, limits).parse();
}

type Occur = 'must' | 'should' | 'mustNot';
interface Clause {
  occur: Occur;
  node: QueryNode;
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #length: number;
  readonly #limits: QueryLimits;
  #at = 0;
  #clauses = 0;
  #wildcards = 0;
  #scans = 0;
  #fuzzies = 0;

  constructor(tokens: readonly Token[], length: number, limits: QueryLimits) {
    this.#tokens = tokens;
    this.#length = length;
    this.#limits = limits;
  }

  parse(): QueryNode {
    const node = this.#clauseList(null, 0);
    const rest = this.#peek();
    if (rest) throw this.#unexpected(rest);
    return node;
  }

  #clauseList(field: string | null, depth: number): QueryNode {
    const clauses: Clause[] = [];
    while (true) {
      const operator = this.#take('and', 'or');
      if (operator && clauses.length === 0) throw this.#unexpected(operator);
      const modifier = this.#take('plus', 'minus', 'not');
      const token = this.#peek();
      if (token === undefined || token.type === ')') {
        const dangling = modifier ?? operator;
        if (dangling) throw syntaxError(`Nothing follows ${quote(dangling)}`, dangling.position);
        break;
      }
      const last = clauses.at(-1);
      if (operator?.type === 'and' && last?.occur === 'should') last.occur = 'must';
      clauses.push({ occur: occurOf(operator, modifier), node: this.#clause(field, depth) });
    }
    if (clauses.length === 0) {
      const token = this.#peek();
      throw token ? this.#unexpected(token) : syntaxError('The query ends too early', this.#length);
    }
    return combine(clauses);
  }

  #clause(field: string | null, depth: number): QueryNode {
    const token = this.#next();
    if (token.type === 'word' && this.#peek()?.type === ':') {
      return this.#fieldClause(token, depth);
    }
    return this.#value(token, field, depth);
  }

  #fieldClause(name: Token & { type: 'word' }, depth: number): QueryNode {
    const colon = this.#next();
    const written = this.#fieldName(name);
    const token = this.#peek();
    if (token === undefined || (token.type === 'word' && this.#tokens[this.#at + 1]?.type === ':')) {
      const second = token === undefined ? undefined : this.#tokens[this.#at + 1];
      throw second
        ? syntaxError('Unexpected ":" (quote the value or escape it)', second.position)
        : syntaxError('Nothing follows ":"', colon.position);
    }
    this.#at += 1;
    if (written === '_exists_') return this.#existsClause(token);
    if (written === '*') return this.#value(token, null, depth);
    const field = fieldPath(written);
    if (token.type === 'comparison') return this.#comparison(token, field);
    return this.#value(token, field, depth);
  }

  #fieldName(name: Token & { type: 'word' }): string {
    const literal = literalOf(name.parts);
    if (literal !== null) return literal;
    if (isStar(name.parts)) return '*';
    throw syntaxError('The name of a field takes no wildcards', name.position);
  }

  #existsClause(token: Token): QueryNode {
    const { position } = token;
    const name = token.type === 'word' ? this.#fieldName(token) : token.type === 'phrase' ? token.text : null;
    if (name === null) throw this.#unexpected(token);
    this.#boost();
    return this.#counted(
      token,
      name === '*' ? { type: 'all' } : { type: 'exists', field: fieldPath(name), position },
    );
  }

  #comparison(token: Token & { type: 'comparison' }, field: string): QueryNode {
    const { operator, value, valuePosition, position } = token;
    const bound: RangeBound = { value, isInclusive: operator.endsWith('='), position: valuePosition };
    const isLower = operator.startsWith('>');
    this.#boost();
    return this.#countedRange(token, {
      type: 'range',
      field,
      lower: isLower ? bound : null,
      upper: isLower ? null : bound,
      position,
    });
  }

  #value(token: Token, field: string | null, depth: number): QueryNode {
    switch (token.type) {
      case '(':
        return this.#group(token, field, depth);
      case 'phrase':
        return this.#phrase(token, field);
      case 'range':
        return this.#range(token, field);
      case 'word':
        return this.#word(token, field);
      default:
        throw this.#unexpected(token);
    }
  }

  #group(opening: Token, field: string | null, depth: number): QueryNode {
    if (depth + 1 > this.#limits.maxDepth) {
      throw tooComplex(`More than ${this.#limits.maxDepth} parentheses within each other`, opening.position);
    }
    const node = this.#clauseList(field, depth + 1);
    const closing = this.#peek();
    if (closing?.type !== ')') throw syntaxError('The parenthesis is not closed', opening.position);
    this.#at += 1;
    const boost = this.#boost();
    return boost === 1 ? node : boosted(node, boost);
  }

  #phrase(token: Token & { type: 'phrase' }, field: string | null): QueryNode {
    const tilde = this.#take('tilde');
    const slop = tilde === undefined ? 0 : tilde.value;
    if (tilde && (slop === null || !Number.isInteger(slop))) {
      throw syntaxError('"~" after a phrase needs a whole number', tilde.position);
    }
    if (tilde && (slop ?? 0) > this.#limits.maxSlop) {
      throw tooComplex(`Words may be at most ${this.#limits.maxSlop} places apart`, tilde.position);
    }
    const { text, position } = token;
    return this.#counted(token, {
      type: 'phrase',
      field,
      text,
      slop: slop ?? 0,
      boost: this.#boost(),
      position,
    });
  }

  #range(token: Token & { type: 'range' }, field: string | null): QueryNode {
    if (field === null) throw syntaxError('A range needs a field', token.position);
    const bound = (value: string, isInclusive: boolean, position: number): RangeBound | null =>
      value === '*' ? null : { value, isInclusive, position };
    const node = this.#countedRange(token, {
      type: 'range',
      field,
      lower: bound(token.lower, token.opens === '[', token.lowerPosition),
      upper: bound(token.upper, token.closes === ']', token.upperPosition),
      position: token.position,
    });
    this.#boost();
    return node;
  }

  #word(token: Token & { type: 'word' }, field: string | null): QueryNode {
    const { parts, position } = token;
    const tilde = this.#take('tilde');
    if (tilde) return this.#fuzzy(token, tilde, field);
    const boost = this.#boost();
    if (isStar(parts)) {
      return this.#counted(token, field === null ? { type: 'all' } : { type: 'exists', field, position });
    }
    const text = literalOf(parts);
    if (text !== null) return this.#counted(token, { type: 'term', field, text, boost, position });

    this.#wildcards += 1;
    if (this.#wildcards > this.#limits.maxWildcards) {
      throw tooComplex(`More than ${this.#limits.maxWildcards} words with wildcards`, position);
    }
    const { minWildcardPrefix } = this.#limits;
    const words = wordsBefore(parts, field);
    if ([...(words.at(-1) ?? '')].length < minWildcardPrefix) {
      throw tooComplex(
        `A wildcard needs at least ${minWildcardPrefix} characters of its word before it`,
        position,
      );
    }
    const isAtEnd = isStar(parts.slice(1));
    if (words.length > 1 && !isAtEnd) {
      throw syntaxError('After several words only "*" at the end of them is possible', position);
    }
    if (!isAtEnd) this.#countScan(position);
    return this.#counted(token, { type: 'wildcard', field, parts, boost, position });
  }

  #fuzzy(token: Token & { type: 'word' }, tilde: Token & { type: 'tilde' }, field: string | null): QueryNode {
    const text = literalOf(token.parts);
    if (text === null) {
      throw syntaxError('A word has either wildcards or "~": escape one of them', tilde.position);
    }
    const { value: distance } = tilde;
    if (distance !== null && distance !== 0 && distance !== 1 && distance !== 2) {
      throw syntaxError(
        '"~" after a word takes the number of characters that may differ, at most 2',
        tilde.position,
      );
    }
    this.#fuzzies += 1;
    if (this.#fuzzies > this.#limits.maxFuzzy) {
      throw tooComplex(`More than ${this.#limits.maxFuzzy} words with "~"`, token.position);
    }
    const { position } = token;
    return this.#counted(token, {
      type: 'fuzzy',
      field,
      text,
      distance,
      boost: this.#boost(),
      position,
    });
  }

  /** No index answers ranges of words and of exact values. */
  #countedRange(token: Token, node: RangeNode): QueryNode {
    const isBounded = node.lower !== null || node.upper !== null;
    if (isBounded && ['text', 'keyword'].includes(fieldType(node.field))) this.#countScan(node.position);
    return this.#counted(token, node);
  }

  #countScan(position: number): void {
    const { maxScans } = this.#limits;
    this.#scans += 1;
    if (this.#scans > maxScans)
      throw tooComplex(`More than ${maxScans} wildcards inside words and ranges of texts`, position);
  }

  #boost(): number {
    return this.#take('boost')?.value ?? 1;
  }

  #counted(token: Token, node: QueryNode): QueryNode {
    this.#clauses += 1;
    if (this.#clauses > this.#limits.maxClauses) {
      throw tooComplex(`More than ${this.#limits.maxClauses} clauses`, token.position);
    }
    return node;
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  #next(): Token {
    const token = this.#tokens[this.#at];
    if (!token) throw syntaxError('The query ends too early', this.#length);
    this.#at += 1;
    return token;
  }

  #take<Type extends Token['type']>(...types: readonly Type[]): (Token & { type: Type }) | undefined {
    const token = this.#tokens[this.#at];
    if (!token || !types.some((type) => type === token.type)) return undefined;
    this.#at += 1;
    return token as Token & { type: Type };
  }

  #unexpected(token: Token) {
    return syntaxError(`Unexpected ${quote(token)}`, token.position);
  }
}

function occurOf(operator: Token | undefined, modifier: Token | undefined): Occur {
  if (modifier?.type === 'minus' || modifier?.type === 'not') return 'mustNot';
  return modifier?.type === 'plus' || operator?.type === 'and' ? 'must' : 'should';
}

function combine(clauses: readonly Clause[]): QueryNode {
  const [only] = clauses;
  if (only && clauses.length === 1 && only.occur !== 'mustNot') return only.node;
  const of = (occur: Occur) => clauses.filter((clause) => clause.occur === occur).map(({ node }) => node);
  return { type: 'bool', must: of('must'), should: of('should'), mustNot: of('mustNot') } satisfies BoolNode;
}

function boosted(node: QueryNode, factor: number): QueryNode {
  switch (node.type) {
    case 'term':
    case 'phrase':
    case 'wildcard':
    case 'fuzzy':
      return { ...node, boost: node.boost * factor };
    case 'bool':
      return {
        ...node,
        must: node.must.map((inner) => boosted(inner, factor)),
        should: node.should.map((inner) => boosted(inner, factor)),
      };
    default:
      return node;
  }
}

function isStar(parts: readonly WildcardPart[]): boolean {
  return parts.length > 0 && parts.every((part) => 'any' in part && part.any === 'many');
}

/** The indexed part of the characters before the first wildcard: in a text its words, else all of them. */
function wordsBefore([first]: readonly WildcardPart[], field: string | null): readonly string[] {
  if (first === undefined || !('literal' in first)) return [];
  return field === null || fieldType(field) === 'text' ? textTokens(first.literal) : [first.literal];
}

function literalOf(parts: readonly WildcardPart[]): string | null {
  const literals = parts.map((part) => ('literal' in part ? part.literal : null));
  return literals.includes(null) ? null : literals.join('');
}

const SYMBOLS: Partial<Record<Token['type'], string>> = {
  and: 'AND',
  or: 'OR',
  not: 'NOT',
  plus: '+',
  minus: '-',
  boost: '^',
  tilde: '~',
  range: '[',
};

function quote(token: Token): string {
  return `"${token.type === 'comparison' ? token.operator : (SYMBOLS[token.type] ?? token.type)}"`;
}

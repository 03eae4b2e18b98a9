import { storableText } from '../../documents/text-tokens.ts';

/** Collects the values of a statement; `add` returns the placeholder of one. */
export class Parameters {
  readonly values: unknown[] = [];
  /** Where the tables of the statement are. */
  readonly schema: string;

  constructor(schema: string) {
    this.schema = schema;
  }

  add(value: number | string | readonly string[]): string {
    this.values.push(
      typeof value === 'object'
        ? value.map(storableText)
        : typeof value === 'string'
          ? storableText(value)
          : value,
    );
    return `$${this.values.length}`;
  }
}

/** A lexeme as tsvector and tsquery literals write it. */
export function quoteLexeme(lexeme: string): string {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

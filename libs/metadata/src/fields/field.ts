import type { FieldReport } from '../report.ts';
import type { Vocabularies } from '../vocabularies.ts';

/**
 * One kind of value in the metadata. A field reports the problems of a value, and defines its stored form and its
 * rendering. Invalid values are stored as they were sent, so that users lose no input; rendering must
 * therefore accept any JSON value.
 */
export interface Field<Value = unknown> {
  /** Reports every problem of `value` under `path` and returns the value to store; `undefined` stores nothing. */
  check(value: unknown, path: string, report: FieldReport): unknown;
  /** The public form of a stored value. */
  render(checked: unknown, vocabularies: Vocabularies): unknown;
  /** The type of the field, for the description of the interface and for the search index. */
  readonly describes: FieldDescription;
  /** Only a type: what a value without problems looks like. */
  readonly valid?: Value;
}

/** The schema of a field's valid values. */
export type ValueOf<Of> = Of extends Field<infer Value> ? Value : never;

/** The one description of a field from which its JSON Schema and its place in the index follow. */
export type FieldDescription =
  | {
      readonly is: 'text';
      /** `text` is searched word by word, `keyword` whole. */
      readonly search: 'text' | 'keyword' | 'date';
      readonly format?: 'html' | 'email' | 'uri' | 'edtf';
      readonly minLength?: number;
      readonly choices?: readonly string[];
    }
  | { readonly is: 'term'; readonly vocabulary: string }
  | { readonly is: 'languages' }
  | { readonly is: 'list'; readonly item: FieldDescription; readonly minItems: number }
  | {
      readonly is: 'object';
      readonly members: Readonly<Record<string, FieldDescription>>;
      readonly required: readonly string[];
      /** Members that only answers have. */
      readonly derived: readonly string[];
    }
  | { readonly is: 'geometry' };

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A field whose public form is the stored value. */
export function plain<Value>(describes: FieldDescription, check: Field['check']): Field<Value> {
  return { check, render: (checked) => checked, describes };
}

import type { Report } from '../report.ts';

/**
 * One kind of value in the metadata. A field says what is wrong with a value, what is kept of it, and how the
 * kept value is shown. What is wrong is kept as it was sent, so nobody loses what they typed; showing must
 * therefore cope with any JSON value.
 */
export interface Field {
  /** Reports every problem of `value` under `path` and returns what to keep; `undefined` keeps nothing. */
  check(value: unknown, path: string, report: Report): unknown;
  /** The public form of a kept value. */
  render(kept: unknown): unknown;
}

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A field that is shown as it was kept. */
export function plain(check: Field['check']): Field {
  return { check, render: (kept) => kept };
}

import type { Told } from './http.ts';

/** What differs from answer to answer, whatever it is about. */
const PASSING = new Set(['date', 'x-request-id', 'keep-alive']);

/** All that an answer tells, with the names of what was asked for left out. */
export function wholeAnswer({ status, headers, text }: Told, names: readonly string[]): string {
  const told = Object.entries(headers).filter(([name]) => !PASSING.has(name) && !name.includes('ratelimit'));
  const all = JSON.stringify({ status, headers: told.sort(), text });
  return names.filter((name) => name !== '').reduce((rest, name) => rest.replaceAll(name, '…'), all);
}

/** The names of the headers alone: one that is there for some answers only tells which. */
export function headerNames({ headers }: Told): string[] {
  return Object.keys(headers)
    .filter((name) => !PASSING.has(name) && !name.includes('ratelimit'))
    .sort();
}

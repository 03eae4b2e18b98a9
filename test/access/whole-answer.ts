import type { ChangeLog } from './http.ts';

/** Values that differ between any two answers. */
const PASSING = new Set(['date', 'x-request-id', 'keep-alive']);

/** The content of an answer, without the names in the request. */
export function wholeAnswer({ status, headers, text }: ChangeLog, names: readonly string[]): string {
  const told = Object.entries(headers).filter(([name]) => !PASSING.has(name) && !name.includes('ratelimit'));
  const all = JSON.stringify({ status, headers: told.sort(), text });
  return names.filter((name) => name !== '').reduce((rest, name) => rest.replaceAll(name, '…'), all);
}

/** The names of the headers alone: their presence may reveal a difference. */
export function headerNames({ headers }: ChangeLog): string[] {
  return Object.keys(headers)
    .filter((name) => !PASSING.has(name) && !name.includes('ratelimit'))
    .sort();
}

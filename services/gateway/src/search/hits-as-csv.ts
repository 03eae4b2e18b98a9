import type { Json } from '../rendering/entity-json.ts';
import { type HitProperties, hitProperties } from './hit-properties.ts';

const COLUMNS = [
  'id',
  'doi',
  'title',
  'creators',
  'publication_date',
  'resource_type',
  'access_status',
  'url',
] as const satisfies (keyof HitProperties)[];

/** Hits as a table of RFC 4180 with a header, several creators with `; ` between them. */
export function hitsAsCsv(hits: readonly Json[]): string {
  const rows = hits.map((hit) => {
    const properties = hitProperties(hit);
    return COLUMNS.map((column) => cell([properties[column] ?? ''].flat().join('; ')));
  });
  return [COLUMNS, ...rows].map((row) => `${row.join(',')}\r\n`).join('');
}

/**
 * Where spreadsheets see a formula begin: at the start of a cell, also behind blanks and with full-width signs, and behind a separator
 * of cells other than the comma, which some readers take for the end of a cell inside quotes too.
 */
const FORMULA = /(?=[=+\-@＝＋－＠])(?<=(?:^|[;\t\r\n])[^\S\t\r\n]*)|^(?=[\t\r\n])/gu;

function cell(value: string): string {
  const plain = value.replace(FORMULA, "'");
  return /[",;\t\r\n]/.test(plain) || plain !== plain.trim() ? `"${plain.replaceAll('"', '""')}"` : plain;
}

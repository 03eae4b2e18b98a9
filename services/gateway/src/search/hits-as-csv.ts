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

/** Spreadsheets take what begins so for a formula, also behind blanks, and with signs of full width. */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/u;

function cell(value: string): string {
  const plain = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(plain) || plain !== plain.trim() ? `"${plain.replaceAll('"', '""')}"` : plain;
}

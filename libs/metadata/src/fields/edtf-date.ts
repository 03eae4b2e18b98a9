import { type Field, plain } from './field.ts';
import { isText } from './text.ts';

const SINGLE = /^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?$/;
const SEASONS = [21, 22, 23, 24];

/** A date or closed interval of EDTF level 0: `YYYY`, `YYYY-MM`, `YYYY-MM-DD`, `a/b` with a not after b. */
export function edtfDate(): Field<string> {
  return plain({ is: 'text', search: 'date', format: 'edtf' }, (value, path, report) => {
    if (!isText(value, path, report)) return value;
    const cleaned = value.trim();
    if (!edtfBounds(cleaned)) report.add(path, 'Please provide a valid date or interval.');
    return cleaned;
  });
}

/**
 * The first and last calendar day that an EDTF level 0 date or interval covers, as `YYYY-MM-DD`;
 * `undefined` if it is not one.
 */
export function edtfBounds(value: string): { first: string; last: string } | undefined {
  const parts = value.split('/');
  if (parts.length > 2) return undefined;
  const bounds = parts.map(singleBounds);
  const [from, to] = [bounds[0], bounds.at(-1)];
  if (!from || !to || from.first > to.first) return undefined;
  return { first: from.first, last: to.last };
}

function singleBounds(value: string): { first: string; last: string } | undefined {
  const match = SINGLE.exec(value);
  if (!match) return undefined;
  const [, year = '', month, day] = match;
  if (month === undefined) return { first: `${year}-01-01`, last: `${year}-12-31` };
  if (day === undefined && SEASONS.includes(Number(month)))
    return { first: `${year}-01-01`, last: `${year}-12-31` };
  const monthNumber = Number(month);
  if (monthNumber < 1 || monthNumber > 12) return undefined;
  const lastDay = daysIn(Number(year), monthNumber);
  if (day === undefined) return { first: `${year}-${month}-01`, last: `${year}-${month}-${lastDay}` };
  const dayNumber = Number(day);
  return dayNumber >= 1 && dayNumber <= lastDay ? { first: value, last: value } : undefined;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

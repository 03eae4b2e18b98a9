const FORM =
  /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2})(?::(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?(Z|[+-]\d{2}:?\d{2})?)?)?)?$/u;

/** The instants from `start` up to but without `end` (ISO 8601, UTC) that a date, or the beginning of one, names. */
export interface InstantSpan {
  start: string;
  end: string;
}

/** Reads `2026`, `2026-11`, `2026-11-21`, `2026-11-21T06`, … with an optional zone; null if it is none of them. */
export function partialInstant(text: string): InstantSpan | null {
  const match = FORM.exec(text);
  if (match === null) return null;
  const [, year = '', month, day, hour, minute, second, fraction, zone = 'Z'] = match;
  const offset = zone === 'Z' ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(-2)}`;
  const iso = `${year}-${month ?? '01'}-${day ?? '01'}T${hour ?? '00'}:${minute ?? '00'}:${second ?? '00'}${offset}`;
  const start = new Date(iso);
  if (Number(year) === 0 || Number.isNaN(start.getTime()) || !isCalendarDay(year, month, day)) return null;
  if (fraction !== undefined) {
    const micros = Number(fraction.padEnd(6, '0'));
    return { start: withMicros(start, micros), end: withMicros(start, micros + 1) };
  }
  const end = new Date(start);
  if (month === undefined) end.setUTCFullYear(end.getUTCFullYear() + 1);
  else if (day === undefined) end.setUTCMonth(end.getUTCMonth() + 1);
  else if (hour === undefined) end.setUTCDate(end.getUTCDate() + 1);
  else if (minute === undefined) end.setTime(end.getTime() + 3_600_000);
  else end.setTime(end.getTime() + (second === undefined ? 60_000 : 1_000));
  return { start: withMicros(start, 0), end: withMicros(end, 0) };
}

/** `Date` turns 31 February into a day of March. */
function isCalendarDay(year: string, month = '01', day = '01'): boolean {
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day);
}

function withMicros(second: Date, micros: number): string {
  const carried = new Date(second.getTime() + (micros === 1_000_000 ? 1_000 : 0));
  const iso = carried.toISOString();
  // Years of more than four digits have a form that only JavaScript reads.
  if (iso.startsWith('+')) return 'infinity';
  return `${iso.slice(0, iso.indexOf('.'))}.${String(micros % 1_000_000).padStart(6, '0')}Z`;
}

const STYLES = { medium: 'short', long: 'long' } as const;

/**
 * An EDTF date or interval of level 0 in English: `Jun 1, 2020` and `June 1, 2020`, `June 2020`, `2020`, `June 1 – 5,
 * 2020`. What is none, as drafts may keep it, has no readable form.
 */
export function readableDate(edtf: unknown, style: keyof typeof STYLES): string | undefined {
  if (typeof edtf !== 'string') return undefined;
  const [start, end, ...rest] = edtf.split('/').map((part) => momentOf(part.trim()));
  if (start === undefined || rest.length > 0) return undefined;
  const { month, day } = end === undefined || start.precision < end.precision ? start.parts : end.parts;
  const format = new Intl.DateTimeFormat('en', {
    year: 'numeric',
    ...(month ? { month: STYLES[style] } : {}),
    ...(day ? { day: 'numeric' } : {}),
    timeZone: 'UTC',
  });
  if (!edtf.includes('/')) return format.format(start.at);
  return end === undefined ? undefined : format.formatRange(start.at, end.at);
}

/** The day of an instant, in English: `November 21, 2026`. */
export function readableDay(instant: unknown): string | undefined {
  return typeof instant === 'string' ? readableDate(instant.slice(0, 10), 'long') : undefined;
}

interface Moment {
  at: Date;
  precision: number;
  parts: { month: boolean; day: boolean };
}

function momentOf(text: string): Moment | undefined {
  const [, year, month, day] = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?$/.exec(text) ?? [];
  if (year === undefined) return undefined;
  const at = new Date(`${year}-${month ?? '01'}-${day ?? '01'}T00:00:00Z`);
  if (Number.isNaN(at.getTime())) return undefined;
  const parts = { month: month !== undefined, day: day !== undefined };
  return { at, precision: Number(parts.month) + Number(parts.day), parts };
}

/** An instant or an EDTF date as people read it; the text itself if it is neither. */
export function readableDate(text: string, language: string): string {
  const parts = text.split('/');
  const readable = parts.map((part) => readableDay(part, language));
  return readable.join(' – ');
}

function readableDay(text: string, language: string): string {
  const [, year, month, day] = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?:[T ].*)?$/.exec(text) ?? [];
  if (year === undefined) return text;
  const at = new Date(`${year}-${month ?? '01'}-${day ?? '01'}T00:00:00Z`);
  if (Number.isNaN(at.getTime())) return text;
  const precision = month === undefined ? 'year' : day === undefined ? 'month' : 'day';
  return formatOf(language, precision).format(at);
}

const PRECISIONS = {
  year: { year: 'numeric' },
  month: { year: 'numeric', month: 'long' },
  day: { year: 'numeric', month: 'long', day: 'numeric' },
} as const;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Formats are expensive to make. */
function formatOf(language: string, precision: keyof typeof PRECISIONS): Intl.DateTimeFormat {
  const key = `${language} ${precision}`;
  const format =
    formats.get(key) ?? new Intl.DateTimeFormat(language, { ...PRECISIONS[precision], timeZone: 'UTC' });
  formats.set(key, format);
  return format;
}

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
  return new Intl.DateTimeFormat(language, {
    year: 'numeric',
    ...(month === undefined ? {} : { month: 'long' }),
    ...(day === undefined ? {} : { day: 'numeric' }),
    timeZone: 'UTC',
  }).format(at);
}

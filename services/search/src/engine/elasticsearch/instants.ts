/** Instants as microseconds since 1970 in decimal text: beyond 2255 they are no exact numbers of JavaScript. */
export function microsOf(instant: string): string {
  if (instant === 'infinity') return '9223372036854775807';
  const [seconds = '', fraction = ''] = instant.replace(/Z$/u, '').split('.');
  return String(BigInt(Date.parse(`${seconds}Z`)) * 1_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0')));
}

/** ISO 8601 in UTC with microseconds. */
export function instantOf(micros: string): string {
  const all = BigInt(micros);
  const fraction = ((all % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = new Date(Number((all - fraction) / 1_000n)).toISOString().slice(0, -5);
  return `${seconds}.${String(fraction).padStart(6, '0')}Z`;
}

/** A day as a number that grows with it. Days of the year 0 are all the same. */
export function dayNumber(day: string): number {
  return day.startsWith('0000') ? 0 : Number(day.replaceAll('-', ''));
}

const UNITS = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'm', ms: 60_000 },
  { name: 's', ms: 1_000 },
] as const;

/** A span of time for people, in its two largest units: `850ms`, `12s`, `4m 10s`, `3d 2h`. */
export function formatTimeSpan(ms: number): string {
  const largest = UNITS.findIndex((unit) => ms >= unit.ms);
  if (largest === -1) return `${ms}ms`;
  const parts: string[] = [];
  let rest = ms;
  for (const { name, ms: size } of UNITS.slice(largest, largest + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${name}`);
  }
  return parts.join(' ');
}

/** Milliseconds of a span such as `30s`, `5m`, `2h` or `1d`; undefined if the text is no time span. */
export function parseTimeSpan(text: string): number | undefined {
  const [, count, name] = /^(\d{1,6})([dhms])$/.exec(text) ?? [];
  const unit = UNITS.find((one) => one.name === name);
  return unit === undefined ? undefined : Number(count) * unit.ms;
}

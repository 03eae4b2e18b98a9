const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** A size for people, in decimal units: `999 B`, `1.2 MB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let step = 0;
  while (value >= 999.5 && step < UNITS.length - 1) {
    value /= 1_000;
    step += 1;
  }
  const digits = step > 0 && value < 9.95 ? 1 : 0;
  return `${value.toFixed(digits)} ${UNITS[step] ?? ''}`;
}

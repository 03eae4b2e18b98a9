const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

const SIZE = /^(\d{1,15})(?:\.(\d{1,3}))? ?(B|kB|MB|GB|TB)?$/i;

/** Bytes of a size such as `500MB`, `1.5 TB` or `1000000`, in decimal units; undefined if the text is no size. */
export function parseBytes(text: string): number | undefined {
  const [, whole, part = '', unit = 'B'] = SIZE.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const step = UNITS.findIndex((one) => one.toLowerCase() === unit.toLowerCase());
  return Math.round(Number(`${whole}.${part || 0}`) * 1_000 ** step);
}

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

const DATE_TIME =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[T ](?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d{1,9}))?)?(?<zone>Z|[+-]\d\d(?::?\d\d)?)?$/i;

/** An ISO 8601 date with a time; UTC where no offset is given. Finer than a millisecond is cut off. */
export function parseInstant(text: string): Date | undefined {
  const parts = DATE_TIME.exec(text)?.groups;
  if (parts === undefined) return undefined;
  const number = (name: string) => Number(parts[name] ?? 0);
  const [year, month, day, hour, minute, second] = ['year', 'month', 'day', 'hour', 'minute', 'second'].map(
    number,
  );
  const ms = Number((parts['fraction'] ?? '').padEnd(3, '0').slice(0, 3));
  const local = new Date(0);
  local.setUTCFullYear(year ?? 0, (month ?? 0) - 1, day);
  local.setUTCHours(hour ?? 0, minute, second, ms);
  // A part that is out of its range has moved another.
  const isReal =
    local.getUTCMonth() + 1 === month &&
    local.getUTCDate() === day &&
    local.getUTCHours() === hour &&
    local.getUTCMinutes() === minute &&
    local.getUTCSeconds() === second;
  const offset = offsetMinutes(parts['zone']);
  if (!isReal || offset === undefined) return undefined;
  const instant = new Date(local.getTime() - offset * 60_000);
  // Beyond four digits it could not be written in the same way.
  return instant.getUTCFullYear() >= 0 && instant.getUTCFullYear() <= 9_999 ? instant : undefined;
}

function offsetMinutes(zone = 'Z'): number | undefined {
  if (zone.toUpperCase() === 'Z') return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', '') || 0)];
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

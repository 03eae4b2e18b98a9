const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const TIME = '\\d\\d:\\d\\d:\\d\\d';

const IN_USE = new RegExp(`^${DAY}, \\d\\d ${MONTH} \\d{4} ${TIME} GMT$`);
const OF_RFC_850 = new RegExp(`^${LONG_DAY}, \\d\\d-${MONTH}-\\d\\d ${TIME} GMT$`);
const OF_ASCTIME = new RegExp(`^${DAY} ${MONTH} [ \\d]\\d ${TIME} \\d{4}$`);

/**
 * The instant that a header names, in milliseconds, in any of the three forms of RFC 9110, 5.6.7; undefined for
 * everything else, which recipients are to ignore.
 */
export function httpDate(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const isDate = IN_USE.test(header) || OF_RFC_850.test(header);
  if (!isDate && !OF_ASCTIME.test(header)) return undefined;
  const instant = Date.parse(isDate ? header : `${header} GMT`);
  return Number.isNaN(instant) ? undefined : instant;
}

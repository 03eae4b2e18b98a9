import { InvalidArgumentError } from 'commander';
import { parseTimeSpan } from './terminal/time-span.ts';

/** Milliseconds. */
export function timeSpan(text: string): number {
  const ms = parseTimeSpan(text);
  if (ms === undefined)
    throw new InvalidArgumentError('Expected a number with a unit, such as 30s, 5m, 2h or 1d.');
  return ms;
}

/** Milliseconds, or `never`. */
export function lifetime(text: string): number | 'never' {
  return text === 'never' ? text : timeSpan(text);
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

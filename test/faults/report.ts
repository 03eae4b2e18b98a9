import { isFull } from './scale.ts';

/** Prints the measurements of a full run; short runs print nothing. */
export function report(line: string): void {
  if (isFull) process.stdout.write(`${line}\n`);
}

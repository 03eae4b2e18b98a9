import { isFull } from './scale.ts';

/** Tells what a full run has measured; short runs say nothing. */
export function report(line: string): void {
  if (isFull) process.stdout.write(`${line}\n`);
}

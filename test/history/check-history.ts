import { checkEdits } from './check-edits.ts';
import { checkPublications } from './check-publications.ts';
import type { History } from './history.ts';
import type { Violation } from './violation.ts';

/** Everything that a history shows and no correct system does. Trusts nothing but what its clients saw. */
export function checkHistory(history: History): Violation[] {
  return [...checkPublications(history), ...checkEdits(history)].sort((one, other) => one.at - other.at);
}

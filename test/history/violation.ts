/** A state that no correct system shows, under any fault. */
export interface Violation {
  kind:
    | 'lost edit'
    | 'duplicated edit'
    | 'reordered edits'
    | 'unknown edit'
    | 'fractured read'
    | 'non-monotonic read'
    | 'publication reverted'
    | 'refused publication seen';
  entity: string;
  /** When it was seen, on the clock of the history. */
  at: number;
  what: string;
}

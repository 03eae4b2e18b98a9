/** What no correct system shows, whatever fails. */
export interface Violation {
  kind:
    | 'lost edit'
    | 'duplicated edit'
    | 'reordered edits'
    | 'unknown edit'
    | 'fractured read'
    | 'non-monotonic read'
    | 'publication taken back'
    | 'refused publication seen';
  entity: string;
  /** When it was seen, on the clock of the history. */
  at: number;
  what: string;
}

/** Without NUL and halves of surrogate pairs, which Postgres cannot hold: both engines leave them out. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '');
}

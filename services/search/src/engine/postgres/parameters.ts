/** Collects the values of a statement; `add` gives the placeholder that stands for one. */
export class Parameters {
  readonly values: unknown[] = [];

  add(value: number | string | readonly string[]): string {
    this.values.push(
      typeof value === 'object'
        ? value.map(storableText)
        : typeof value === 'string'
          ? storableText(value)
          : value,
    );
    return `$${this.values.length}`;
  }
}

/** Postgres text holds neither NUL nor half a surrogate pair. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '');
}

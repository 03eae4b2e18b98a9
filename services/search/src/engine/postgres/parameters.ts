import { storableText } from '../../index/storable-text.ts';

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

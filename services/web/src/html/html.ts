/** Markup that is safe to send; only `html` and `trusted` create it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

export type Child = Html | string | number | null | undefined | false | readonly Child[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return /[&<>"']/.test(text) ? text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '') : text;
}

/** A tagged template that escapes every value except `Html`. Lists are concatenated; null, undefined and false are empty. */
export function html(strings: TemplateStringsArray, ...values: readonly Child[]): Html {
  let text = strings[0] ?? '';
  for (const [index, value] of values.entries()) text += render(value) + (strings[index + 1] ?? '');
  return new Html(text);
}

/** Marks text as markup. The caller guarantees that it was sanitized or written by us. */
export function trusted(text: string): Html {
  return new Html(text);
}

function render(value: Child): string {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(render).join('');
  if (value === null || value === undefined || value === false) return '';
  return escapeHtml(String(value));
}

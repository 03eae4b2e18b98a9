/** The members of an object that the vocabulary sets, ignoring sent ones. */
const DERIVED = new Set(['title', 'description', 'icon', 'props']);

/**
 * The paths of everything in `sent` that `got` lacks or has otherwise; more in `got` is fine. Of objects that name a
 * vocabulary entry by `id`, only what the vocabulary does not decide is compared.
 */
export function lostParts(sent: unknown, got: unknown, path = ''): string[] {
  if (Array.isArray(sent)) {
    if (!Array.isArray(got) || got.length < sent.length) return [path];
    return sent.flatMap((item, index) => lostParts(item, got[index], `${path}[${index}]`));
  }
  if (isObject(sent)) {
    if (!isObject(got)) return [path];
    return Object.entries(sent)
      .filter(([key]) => !('id' in sent && DERIVED.has(key)))
      .flatMap(([key, value]) => lostParts(value, got[key], `${path}.${key}`));
  }
  return Object.is(sent, got) ? [] : [path];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Markup created by `element`; every other text is escaped. */
export interface Element {
  readonly xml: string;
}

export type Content = Element | string | number | undefined | readonly Content[];

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
// biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 forbids them
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** Text for content and attributes of XML 1.0, without the characters that it forbids. */
export function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replace(FORBIDDEN, '')
    .replace(/[&<>"]/g, (character) => ESCAPES[character] ?? '');
}

/** One element. Attributes without a value are left out. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | undefined>>,
  ...content: readonly Content[]
): Element {
  const pairs = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}="${escapeXml(value)}"`],
  );
  const inner = content.map(write).join('');
  const open = `<${name}${pairs.join('')}`;
  return { xml: inner === '' ? `${open}/>` : `${open}>${inner}</${name}>` };
}

/** An element, or nothing if its content is empty. */
export function optional(
  name: string,
  attributes: Readonly<Record<string, string | undefined>>,
  ...content: readonly Content[]
): Element | undefined {
  return content.map(write).join('') === '' ? undefined : element(name, attributes, ...content);
}

export function xmlDocument(root: Element): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root.xml}\n`;
}

function write(content: Content): string {
  if (content === undefined) return '';
  if (typeof content === 'string') return escapeXml(content);
  if (typeof content === 'number') return String(content);
  return 'xml' in content ? content.xml : content.map(write).join('');
}

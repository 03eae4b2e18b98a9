import { createRequire } from 'node:module';
import type sanitizeHtml from 'sanitize-html';
import { MESSAGES, type Report } from '../report.ts';
import { type Field, type FieldDescription, plain } from './field.ts';

/**
 * Control characters except tab and line breaks, and the embeddings and overrides of text direction, which show a text as another
 * one. Direction marks and isolates stay: right-to-left texts need them.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
const UNSAFE_CHARACTERS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e]/g;

function safe(value: string): string {
  return value.replace(UNSAFE_CHARACTERS, '');
}

interface TextOptions {
  /** In UTF-16 units. */
  minLength?: number;
  /** How it is searched; word by word by default. */
  search?: 'text' | 'keyword';
  /** All permitted values; the enclosing field reports others. */
  choices?: readonly string[];
}

/** Trimmed text without unsafe characters. */
export function text({ minLength = 0, search = 'text', choices }: TextOptions = {}): Field<string> {
  const describes: FieldDescription = {
    is: 'text',
    search,
    ...(minLength > 0 ? { minLength } : {}),
    ...(choices ? { choices } : {}),
  };
  return plain(describes, (value, path, report) => {
    if (!isText(value, path, report)) return value;
    const cleaned = safe(value).trim();
    if (cleaned.length < minLength) report.add(path, `Shorter than minimum length ${minLength}.`);
    return cleaned;
  });
}

const ALLOWED_HTML = {
  allowedTags: [
    ...[
      'a',
      'abbr',
      'acronym',
      'b',
      'blockquote',
      'br',
      'code',
      'div',
      'em',
      'h1',
      'h2',
      'h3',
      'h4',
      'h5',
      'i',
    ],
    ...['li', 'ol', 'p', 'pre', 'span', 'strike', 'strong', 'sub', 'sup', 'u', 'ul'],
  ],
  allowedAttributes: { '*': ['class'], a: ['href', 'title', 'name', 'rel'] },
  // A removed tag leaves its text behind, scripts included: text is harmless and nothing typed is lost.
  nonTextTags: [],
};

/** Cleaning takes time for each tag, in the thread that answers all other requests: 10,000 take about 20 ms. */
const MAX_TAGS = 10_000;
/** In UTF-16 units after cleaning, which writes `&` as `&amp;` and closes open tags. */
const MAX_LENGTH = 65_536;
const MAX_TOTAL_LENGTH = 1_048_576;

/**
 * HTML reduced to harmless tags; `minLength` counts what is left. All HTML of a document together may have 10,000 tags
 * and 1 MiB after cleaning.
 */
export function html({ minLength = 0 }: { minLength?: number } = {}): Field<string> {
  const describes = { is: 'text', search: 'text', format: 'html', minLength } as const;
  return plain(describes, (value, path, report) => {
    if (!isText(value, path, report)) return value;
    report.html.tags += countTags(value, MAX_TAGS + 1 - report.html.tags);
    if (report.html.tags > MAX_TAGS) {
      report.refuse(path, `More than ${MAX_TAGS} HTML tags in this and the fields before it.`);
      return '';
    }
    const cleaned = sanitize(safe(value)).trim();
    report.html.length += cleaned.length;
    if (cleaned.length > MAX_LENGTH) report.refuse(path, `Longer than maximum length ${MAX_LENGTH} as HTML.`);
    if (report.html.length > MAX_TOTAL_LENGTH)
      report.refuse(
        path,
        `Longer than maximum length ${MAX_TOTAL_LENGTH} as HTML with the fields before it.`,
      );
    if (cleaned.length < minLength) report.add(path, `Shorter than minimum length ${minLength}.`);
    return cleaned;
  });
}

/** Stops at `most`. */
function countTags(value: string, most: number): number {
  let tags = 0;
  for (let at = value.indexOf('<'); at !== -1 && tags < most; at = value.indexOf('<', at + 1)) tags += 1;
  return tags;
}

const require = createRequire(import.meta.url);
let sanitizer: typeof sanitizeHtml | undefined;

/** Loaded with the first HTML: the module is large, and most processes only look terms up. */
function sanitize(dirty: string): string {
  sanitizer ??= require('sanitize-html') as typeof sanitizeHtml;
  return sanitizer(dirty, ALLOWED_HTML);
}

/** Text of which something must remain after trimming. */
export function nonBlank(message: string): Field<string> {
  return plain({ is: 'text', search: 'keyword', minLength: 1 }, (value, path, report) => {
    if (!isText(value, path, report)) return value;
    const cleaned = safe(value).trim();
    if (cleaned === '') report.add(path, message);
    return cleaned;
  });
}

const EMAIL = /^[^\s@<>()[\]\\,;:"]+@[^\s@.]+(\.[^\s@.]+)+$/;

export function email(): Field<string> {
  return plain({ is: 'text', search: 'keyword', format: 'email' }, (value, path, report) => {
    if (!isText(value, path, report)) return value;
    const cleaned = value.trim();
    if (cleaned.length > 254 || !EMAIL.test(cleaned)) report.add(path, 'Not a valid email address.');
    return cleaned;
  });
}

/** An absolute http, https or ftp address. */
export function url(): Field<string> {
  return plain({ is: 'text', search: 'keyword', format: 'uri' }, (value, path, report) => {
    if (!isText(value, path, report)) return value;
    const cleaned = value.trim();
    const parsed = URL.parse(cleaned);
    if (!parsed || !['http:', 'https:', 'ftp:'].includes(parsed.protocol))
      report.add(path, 'Not a valid URL.');
    return cleaned;
  });
}

/** Reports null and anything but text. */
export function isText(value: unknown, path: string, report: Report): value is string {
  if (typeof value === 'string') return true;
  report.add(path, value === null ? MESSAGES.nil : MESSAGES.notText);
  return false;
}

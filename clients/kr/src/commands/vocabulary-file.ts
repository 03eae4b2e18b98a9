import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { CliError } from '../cli-error.ts';

/** An entry of a vocabulary as the services read it. */
export interface VocabularyTerm {
  id: string;
  title: Record<string, string>;
  description?: Record<string, string>;
  icon?: string;
  props?: Record<string, string>;
  tags?: string[];
}

export interface ReadTerms {
  terms: VocabularyTerm[];
  /** Entries counted from 1, in file order. */
  refused: { entry: number; reason: string }[];
}

/**
 * The entries of a vocabulary file.
 * - JSON and YAML: a list of objects `{id, title: {en: …}, description?, icon?, props?, tags?}`.
 * - CSV: a header row; `id`, `title` (English) or `title__<language>`, `description__<language>`, `icon`,
 *   `props__<name>`, `tags` (separated by `;`).
 * @throws CliError when the file as a whole cannot be read
 */
export async function readTerms(file: string): Promise<ReadTerms> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CliError(`cannot read ${file}: ${error.code}`);
  });
  const entries = await parse(file, text);
  const read: ReadTerms = { terms: [], refused: [] };
  const ids = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const checked = checkTerm(entry);
    if (typeof checked === 'string') read.refused.push({ entry: index + 1, reason: checked });
    else if (ids.has(checked.id))
      read.refused.push({ entry: index + 1, reason: `duplicate id ${checked.id}` });
    else {
      ids.add(checked.id);
      read.terms.push(checked);
    }
  }
  return read;
}

async function parse(file: string, text: string): Promise<unknown[]> {
  const kind = extname(file).toLowerCase();
  try {
    if (kind === '.csv') {
      const { parse: parseCsv } = await import('csv-parse/sync');
      const rows = parseCsv(text, { columns: true, bom: true, skip_empty_lines: true, trim: true });
      return (rows as Record<string, string>[]).map(fromColumns);
    }
    const content: unknown =
      kind === '.json'
        ? JSON.parse(text)
        : kind === '.yaml' || kind === '.yml'
          ? (await import('yaml')).parse(text)
          : null;
    if (Array.isArray(content)) return content;
  } catch (error) {
    throw new CliError(`${file} cannot be parsed: ${error instanceof Error ? error.message : error}`);
  }
  throw new CliError(`${file} must be a .csv file, or a .json or .yaml file with a list of entries`);
}

function fromColumns(row: Record<string, string>): Record<string, unknown> {
  const entry: Record<string, unknown> = {};
  const groups: Record<string, Record<string, string>> = {};
  for (const [column, value] of Object.entries(row)) {
    if (value === '') continue;
    const [name = '', part] = column.split('__');
    if (part !== undefined) groups[name] = { ...groups[name], [part]: value };
    else if (name === 'title' || name === 'description') groups[name] = { ...groups[name], en: value };
    else entry[name] = name === 'tags' ? value.split(';').map((tag) => tag.trim()) : value;
  }
  return { ...entry, ...groups };
}

const PARTS = ['id', 'title', 'description', 'icon', 'props', 'tags'];

/** The entry, or what is wrong with it. */
function checkTerm(entry: unknown): VocabularyTerm | string {
  if (!isObject(entry)) return 'must be an object';
  const { id, title, description, icon, props, tags } = entry;
  if (typeof id !== 'string' || !/^\S(.{0,253}\S)?$/u.test(id)) return 'id must be 1 to 255 characters';
  if (!isTexts(title) || Object.keys(title).length === 0)
    return 'title must be an object of texts by language';
  if (description !== undefined && !isTexts(description))
    return 'description must be an object of texts by language';
  if (icon !== undefined && typeof icon !== 'string') return 'icon must be a string';
  if (props !== undefined && !isTexts(props)) return 'props must be an object of texts';
  if (tags !== undefined && !(Array.isArray(tags) && tags.every((tag) => typeof tag === 'string'))) {
    return 'tags must be a list of texts';
  }
  const unknown = Object.keys(entry).find((name) => !PARTS.includes(name));
  if (unknown !== undefined) return `unknown field "${unknown}"`;
  return entry as unknown as VocabularyTerm;
}

function isTexts(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every((text) => typeof text === 'string');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import type { FileEntry, Location } from '@kr/formats';
import { parse } from 'csv-parse/sync';
import { type Html, html } from '../html/html.ts';
import { link, type PageContext } from '../html/layout.ts';
import { renderMarkdown } from '../html/rich-text.ts';
import { extentMap } from './extent-map.ts';
import { type PreviewKind, previewKind } from './preview-kind.ts';

/** The largest part of a file that a preview reads, in bytes. */
const MAX_BYTES = 256 * 1024;
/** The largest PDF that is shown, in bytes. */
export const MAX_PDF_BYTES = 50 * 1024 * 1024;
const MAX_ROWS = 100;
const MAX_COLUMNS = 50;
const MAX_CELLS = 200;
const MAX_FEATURES = 500;

/** @param content path of the bytes of the file */
export async function preview(entry: FileEntry, context: PageContext): Promise<Html> {
  const { texts, repository } = context;
  const kind = previewKind(entry);
  const { pathname } = new URL(entry.links.content);
  if (kind === undefined) return html`<p>${texts.previews.notPossible}</p>`;
  if (kind === 'image') {
    const alt = texts.previews.imageOf(entry.key);
    return html`<div class="preview"><img src="${link(pathname, context)}" alt="${alt}" loading="lazy"></div>`;
  }
  if (kind === 'pdf') {
    const title = texts.previews.title(entry.key);
    if (entry.size > MAX_PDF_BYTES) return html`<p>${texts.previews.notPossible}</p>`;
    const page = context.path.split('?')[0]?.replace(/\/preview\/.*$/, '') ?? '';
    const source = `${page}/preview/${encodeURIComponent(entry.key)}/document`;
    return html`<div class="preview"><iframe src="${link(source, context)}" title="${title}"></iframe></div>`;
  }
  const { bytes, isWhole } = await repository.contentStart(pathname, MAX_BYTES);
  const text = decode(bytes, isWhole);
  const content = RENDERERS[kind](text, { isWhole, key: entry.key, context });
  return html`<div class="preview">${content ?? html`<p>${texts.previews.invalid}</p><pre tabindex="0">${text}</pre>`}
${!isWhole && html`<p class="muted">${texts.previews.truncated}</p>`}</div>`;
}

interface Source {
  isWhole: boolean;
  key: string;
  context: PageContext;
}

/** Undefined for a text that is not what its name promises. */
type Renderer = (text: string, source: Source) => Html | undefined;

const RENDERERS: Readonly<Record<Exclude<PreviewKind, 'image' | 'pdf'>, Renderer>> = {
  text: (text) => html`<pre tabindex="0">${text}</pre>`,
  markdown: (text) => html`<div class="rich">${renderMarkdown(text)}</div>`,
  csv: table,
  geojson: places,
  notebook,
};

/** A text that was cut may end in the middle of a character. */
function decode(bytes: Buffer, isWhole: boolean): string {
  return new TextDecoder('utf-8').decode(bytes, { stream: !isWhole });
}

function table(text: string, { isWhole, key, context }: Source): Html | undefined {
  const { texts } = context;
  const whole = isWhole ? text : text.slice(0, text.lastIndexOf('\n') + 1);
  const rows = rowsOf(whole, key.toLowerCase().endsWith('.tsv') ? '\t' : delimiterOf(whole));
  if (rows === undefined) return undefined;
  const [head = [], ...body] = rows.map((cells) => cells.slice(0, MAX_COLUMNS));
  const isCut = body.length >= MAX_ROWS || !isWhole;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${texts.previews.title(key)}"><table>
<thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${body.slice(0, MAX_ROWS).map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell.slice(0, MAX_CELLS)}</td>`)}</tr>`)}</tbody>
</table></div>${isCut && html`<p class="muted">${texts.previews.rows(Math.min(body.length, MAX_ROWS))}</p>`}`;
}

function rowsOf(text: string, delimiter: string): string[][] | undefined {
  try {
    const options = { delimiter, to: MAX_ROWS + 1, relax_column_count: true, relax_quotes: true, bom: true };
    return parse(text, options) as string[][];
  } catch {
    return undefined;
  }
}

function delimiterOf(text: string): string {
  const [first = ''] = text.split('\n', 1);
  const candidates = [',', ';', '\t'].map((sign) => ({ sign, parts: first.split(sign).length }));
  return candidates.reduce((best, one) => (one.parts > best.parts ? one : best)).sign;
}

function places(text: string, { isWhole, context }: Source): Html | undefined {
  if (!isWhole) return html`<pre tabindex="0">${text.slice(0, 4_000)}</pre>`;
  const value = parsed(text);
  const features = featuresOf(value).slice(0, MAX_FEATURES);
  const map = extentMap(features, context.texts);
  return (
    map &&
    html`${map}<details><summary>${context.texts.previews.input}</summary><pre tabindex="0">${text}</pre></details>`
  );
}

function featuresOf(value: unknown): Location[] {
  if (!isObject(value)) return [];
  if (value['type'] === 'FeatureCollection' && Array.isArray(value['features']))
    return value['features'].flatMap(featuresOf);
  if (value['type'] === 'Feature') return isObject(value['geometry']) ? [location(value['geometry'])] : [];
  return typeof value['type'] === 'string' ? [location(value)] : [];
}

function location(geometry: Record<string, unknown>): Location {
  return { geometry: geometry as unknown as GeoJSON.Geometry };
}

interface Cell {
  cell_type?: string;
  source?: string | string[];
  outputs?: { text?: string | string[]; data?: Record<string, string | string[]> }[];
}

/** Jupyter notebooks (nbformat 4): Markdown, code and the texts of outputs. */
function notebook(text: string, { isWhole, context: { texts } }: Source): Html | undefined {
  const value = isWhole ? parsed(text) : undefined;
  if (!isObject(value) || !Array.isArray(value['cells'])) return undefined;
  return html`${(value['cells'] as Cell[]).map((cell) => {
    const source = joined(cell.source);
    if (cell.cell_type === 'markdown') return html`<div class="rich">${renderMarkdown(source)}</div>`;
    const outputs = (cell.outputs ?? []).map(({ text: own, data }) => joined(own ?? data?.['text/plain']));
    return html`<pre tabindex="0" aria-label="${texts.previews.input}">${source}</pre>
${outputs.filter((output) => output !== '').map((output) => html`<pre tabindex="0" aria-label="${texts.previews.output}">${output}</pre>`)}`;
  })}`;
}

function joined(text: unknown): string {
  if (Array.isArray(text)) return text.filter((line) => typeof line === 'string').join('');
  return typeof text === 'string' ? text : '';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

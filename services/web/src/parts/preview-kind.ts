import type { FileEntry } from '@kr/formats';

export type PreviewKind = 'image' | 'text' | 'markdown' | 'csv' | 'geojson' | 'notebook' | 'pdf';

const BY_EXTENSION: Readonly<Record<string, PreviewKind>> = {
  csv: 'csv',
  tsv: 'csv',
  geojson: 'geojson',
  gif: 'image',
  ipynb: 'notebook',
  jpeg: 'image',
  jpg: 'image',
  json: 'text',
  markdown: 'markdown',
  md: 'markdown',
  pdf: 'pdf',
  png: 'image',
  webp: 'image',
};
const TEXTS =
  'bib c cff cfg conf cpp css go h html ini java js jsonl log py r rb rs rst sh sql toml ts txt xml yaml yml';
const TEXT_EXTENSIONS = new Set(TEXTS.split(' '));

/** How a file can be shown; undefined if it can only be downloaded. */
export function previewKind({
  key,
  mimetype = '',
}: Pick<FileEntry, 'key' | 'mimetype'>): PreviewKind | undefined {
  const extension = /\.([^.]+)$/.exec(key)?.[1]?.toLowerCase() ?? '';
  const known = BY_EXTENSION[extension];
  if (known !== undefined) return known;
  return TEXT_EXTENSIONS.has(extension) || mimetype.startsWith('text/') ? 'text' : undefined;
}

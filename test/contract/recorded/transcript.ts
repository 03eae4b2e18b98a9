import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

/** The recordings lie beside the checkout and are never part of it. */
const TRANSCRIPTS = resolve(import.meta.dirname, '../../../../shared/transcripts');

export const RECORDINGS = ['packages', 'records'] as const;
export type Recording = (typeof RECORDINGS)[number];

export const hasTranscripts = existsSync(TRANSCRIPTS);

/** One request to the original system with its whole answer. */
export interface Exchange {
  recording: Recording;
  /** Numbers are in the order of time; some are missing. */
  number: number;
  name: string;
  method: string;
  /** Path and query. */
  target: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string | undefined;
  answer: {
    status: number;
    /** Names in lower case. */
    headers: Record<string, string>;
    /** Undefined if the body is empty or not JSON. */
    json: unknown;
    /** Whether the recording kept only the beginning of the body; `json` is what is whole of it. */
    isCut: boolean;
  };
}

const SEPARATOR = '\n----\n';

/** The exchanges of one recording in the order of time. */
export async function readRecording(recording: Recording): Promise<Exchange[]> {
  const folder = join(TRANSCRIPTS, recording);
  const names = (await readdir(folder)).filter((name) => /^\d+-.*\.txt$/.test(name));
  const targets = await wholeTargets(folder);
  const exchanges = await Promise.all(
    names.map(async (name) => {
      const exchange = parseExchange(await readFile(join(folder, name), 'utf8'), recording, name);
      return { ...exchange, target: targets.get(name) ?? exchange.target };
    }),
  );
  return exchanges.sort((a, b) => a.number - b.number);
}

// In the exchanges themselves the tokens of links are hidden; the index tells which link each was.
async function wholeTargets(folder: string): Promise<Map<string, string>> {
  const index = await readFile(join(folder, 'INDEX.txt'), 'utf8');
  const rows = index.matchAll(/^\d+ {2}(\S+) {2}\S+ (\S+)$/gm);
  return new Map(Array.from(rows, ([, name = '', target = '']) => [name, target]));
}

function parseExchange(text: string, recording: Recording, file: string): Exchange {
  const cut = text.indexOf(SEPARATOR);
  const sent = text.slice(0, cut).replace(/^(?:#.*\n)+/, '');
  const got = parseMessage(text.slice(cut + SEPARATOR.length));
  const { first, headers, body } = parseMessage(sent);
  const [method = '', target = ''] = first.split(' ');
  // A blank line ends what was sent; it is no part of it.
  const content = body?.replace(/\n$/, '');
  return {
    recording,
    number: Number.parseInt(file, 10),
    name: basename(file, '.txt'),
    method,
    target,
    headers,
    body: content === '' ? undefined : content,
    answer: { status: Number(got.first.split(' ')[1]), headers: got.headers, ...jsonOf(got.body) },
  };
}

function parseMessage(text: string) {
  const end = text.indexOf('\n\n');
  const head = end === -1 ? text.trimEnd() : text.slice(0, end);
  const [first = '', ...lines] = head.split('\n');
  const headers = Object.fromEntries(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return { first, headers, body: end === -1 ? undefined : text.slice(end + 2) };
}

const CUT_MARK = /\n\u2026 cut\s*$/;

function jsonOf(text: string | undefined): { json: unknown; isCut: boolean } {
  if (text === undefined || !/^\s*[[{]/.test(text)) return { json: undefined, isCut: false };
  const isCut = CUT_MARK.test(text);
  return { json: JSON.parse(isCut ? wholePart(text.replace(CUT_MARK, '')) : text), isCut };
}

/** JSON that ends too early, ended after its last whole object or array. */
function wholePart(text: string): string {
  const open: string[] = [];
  let whole = '';
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === '{') open.unshift('}');
    else if (token === '[') open.unshift(']');
    else if (token === open[0]) {
      open.shift();
      whole = text.slice(0, index + 1) + open.join('');
    }
  }
  return whole;
}

import { parseSync, Visitor } from 'oxc-parser';

/** Prose in a file: a comment, a text of several words, or a paragraph. */
export interface Block {
  readonly text: string;
  readonly line: number;
}

/** No blocks for kinds of files without prose. */
export function proseBlocks(file: string, text: string): readonly Block[] {
  const reader = READERS.find(({ files }) => files.test(file));
  return reader === undefined ? [] : reader.read(text, file);
}

const READERS: readonly { files: RegExp; read: (text: string, file: string) => Block[] }[] = [
  { files: /\.(ts|mjs)$/, read: scriptBlocks },
  { files: /\.md$/, read: markdownBlocks },
  { files: /\.ya?ml$/, read: yamlBlocks },
  { files: /\.proto$/, read: (text) => lineCommentBlocks(text, '//') },
  { files: /\.sql$/, read: (text) => lineCommentBlocks(text, '--') },
  { files: /\.prisma$/, read: (text) => lineCommentBlocks(text, '//') },
  { files: /\.tpl$/, read: templateBlocks },
];

function scriptBlocks(text: string, file: string): Block[] {
  const { program, comments } = parseSync(file, text);
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const lineOf = (offset: number) => lineStarts.findLastIndex((start) => start <= offset) + 1;
  const blocks: { text: string; line: number; nextLine?: number }[] = [];
  for (const { type, value, start } of comments) {
    const line = lineOf(start);
    const last = blocks.at(-1);
    if (type === 'Block') {
      blocks.push({ text: value.replace(/^[ \t]*\*+/gm, '').trimEnd(), line });
    } else if (last?.nextLine === line) {
      last.text += `\n${value.trim()}`;
      last.nextLine = line + 1;
    } else {
      blocks.push({ text: value.trim(), line, nextLine: line + 1 });
    }
  }
  const addString = (value: unknown, start: number) => {
    if (typeof value === 'string' && isProse(value)) blocks.push({ text: value, line: lineOf(start) });
  };
  new Visitor({
    Literal: ({ value, start }) => addString(value, start),
    TemplateElement: ({ value, start }) => addString(value.cooked, start),
  }).visit(program);
  return blocks;
}

const SQL =
  /^\s*(?:select\s[\s\S]*\bfrom\b|insert into\b|update \S+\s+set\b|delete from\b|(?:create|alter) \w+ \w+|with \S+ as \()/;

/** Single words are keys, names and values. */
function isProse(value: string): boolean {
  return !SQL.test(value) && /[A-Za-z]{2,} [A-Za-z]{2,}/.test(value);
}

function markdownBlocks(text: string): Block[] {
  const withoutCode = text.replace(/^ *```[\s\S]*?^ *```/gm, (code) => code.replace(/[^\n]/g, ' '));
  const blocks: Block[] = [];
  let line = 1;
  for (const paragraph of withoutCode.split(/(?<=\n)(?=\n|[-*|#\d])/)) {
    blocks.push({ text: paragraph.replaceAll('|', '. ').replace(/^[-*#\d. ]+/, ''), line });
    line += paragraph.match(/\n/g)?.length ?? 0;
  }
  return blocks;
}

function yamlBlocks(text: string): Block[] {
  return text
    .split('\n')
    .map((line, index) => ({
      text: line.replace(/^\s*(?:[-\w.'"/{}]+:)?\s*[>|]?#?\s*['"]?/, ''),
      line: index + 1,
    }))
    .filter((block) => isProse(block.text));
}

function templateBlocks(text: string): Block[] {
  const comments = [...text.matchAll(/\{\{-? *\/\*([\s\S]*?)\*\//g)].map(({ 1: comment = '', index }) => ({
    text: comment,
    line: text.slice(0, index).split('\n').length,
  }));
  return [...comments, ...lineCommentBlocks(text, '#')];
}

function lineCommentBlocks(text: string, leader: string): Block[] {
  return text.split('\n').flatMap((line, index) => {
    const at = line.indexOf(leader);
    return at === -1 ? [] : [{ text: line.slice(at + leader.length).trim(), line: index + 1 }];
  });
}

import { oneOf } from '@kr/testbed';

type Random = () => number;

const WORDS = [
  'flood',
  'risk',
  'map',
  'ice-core',
  'ação',
  'Römäns’',
  "l'eau",
  '3.14',
  '日本',
  'e.g',
  '10.5072/abc-def',
];
const FIELDS = [
  ...[
    'title',
    'metadata.title',
    'metadata.title.keyword',
    'creators',
    'keywords',
    'doi',
    'id',
    'parent.id',
    'nosuch.field',
  ],
  ...[
    'created',
    'updated',
    'versions.index',
    'metadata.publication_date',
    'metadata.dates.date',
    'is_published',
    '*',
  ],
];
const VALUES = [
  '1',
  '2',
  '-7',
  '2020',
  '2020-02',
  '2020-02-30',
  '2021-01-01T00:00:00Z',
  '*',
  '0000',
  '"2020"',
  'a',
  'true',
];
const SCRAPS = [
  ...[
    'AND',
    'OR',
    'NOT',
    ' TO ',
    '+',
    '-',
    '!',
    '&&',
    '||',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    '"',
    '\\',
    '/',
    ':',
    '^',
    '~',
    '*',
  ],
  ...[
    '?',
    '>',
    '>=',
    '<',
    '^2',
    '^1e9',
    '~1',
    '~2',
    '~9',
    ' ',
    '%',
    "'",
    ';--',
    '$1',
    '::tsquery',
    '{"match_all":{}}',
    '__proto__',
  ],
  ...['\t', '\u00a0', '\u202e', '\u0301', '\ufeff', '😀', 'ﬁ', '\\u0000', '..', '|', '&', '<->', ':*'],
];

/** A text as somebody writes who knows the language, or nearly does. */
function written(random: Random, depth: number): string {
  const inner = () => written(random, depth - 1);
  const word = () => oneOf(random, WORDS);
  const simple: (() => string)[] = [
    word,
    () => `${word()}~`,
    () => `${word()}~${Math.floor(random() * 3)}`,
    () => `${word()}^${(random() * 9).toFixed(1)}`,
    () => `${word().slice(0, 3)}*`,
    () => `${word().slice(0, 4)}?${oneOf(random, ['', '*', 'd', '?x'])}`,
    () => `"${word()} ${word()}"`,
    () => `"${word()} ${word()}"~${Math.floor(random() * 5)}`,
    () => `${oneOf(random, FIELDS)}:${oneOf(random, [...VALUES, ...WORDS])}`,
    () => `${oneOf(random, FIELDS)}:${oneOf(random, ['>', '>=', '<', '<='])}${oneOf(random, VALUES)}`,
    () =>
      `${oneOf(random, FIELDS)}:${oneOf(random, ['[', '{'])}${oneOf(random, VALUES)} TO ${oneOf(random, VALUES)}${oneOf(random, [']', '}'])}`,
    () => `_exists_:${oneOf(random, FIELDS)}`,
    () => '*',
  ];
  if (depth === 0 || random() < 0.4) return oneOf(random, simple)();
  const joined = oneOf(random, [' ', ' AND ', ' OR ', ' NOT ', ' && ', ' || ', ' +', ' -', ' !']);
  const both = `${inner()}${joined}${inner()}`;
  return random() < 0.5
    ? both
    : `${oneOf(random, ['', '', `${oneOf(random, FIELDS)}:`, '-'])}(${both})${oneOf(random, ['', '^2'])}`;
}

/** The same with something struck out, put in or doubled. */
function mistyped(random: Random): string {
  const text = written(random, 3);
  const at = Math.floor(random() * (text.length + 1));
  switch (Math.floor(random() * 3)) {
    case 0:
      return text.slice(0, at) + text.slice(at + 1);
    case 1:
      return text.slice(0, at) + oneOf(random, SCRAPS) + text.slice(at);
    default:
      return text.slice(0, at) + text.slice(Math.max(0, at - 8));
  }
}

const characters = (random: Random): string =>
  String.fromCodePoint(
    ...Array.from({ length: 1 + Math.floor(random() * 60) }, () => {
      const most = oneOf(random, [0x7f, 0x7f, 0x2ff, 0xd7ff, 0x1ffff]);
      return Math.floor(random() * most);
    }),
  ).toWellFormed();

/** A query: three in five well formed or nearly, the others of scraps, of any characters, or too large. */
export function chanceText(random: Random): string {
  const kind = random();
  if (kind < 0.45) return written(random, 3);
  if (kind < 0.65) return mistyped(random);
  if (kind < 0.85) {
    const scraps = Array.from({ length: 1 + Math.floor(random() * 20) }, () =>
      oneOf(random, [...SCRAPS, ...WORDS, ...FIELDS]),
    );
    return scraps.join('');
  }
  if (kind < 0.97) return characters(random);
  return oneOf(random, [...SCRAPS, 'a ', '(a ', 'abc* ', 'ab~ ', 'x:', '"']).repeat(
    50 + Math.floor(random() * 200),
  );
}

/** The same with characters that no request can contain: a NUL, or half a surrogate pair. */
export function unpairedText(random: Random): string {
  const text = chanceText(random);
  const at = Math.floor(random() * text.length);
  return `${text.slice(0, at)}${oneOf(random, ['', '', '\u0000', '\ud800'])}${text.slice(at)}`;
}

import { describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { seededRandom } from '@kr/testbed';
import fc from 'fast-check';
import { parseQuery } from './parse-query.ts';
import { QUERY_LIMITS, type QueryLimits, type QueryNode } from './query-tree.ts';
import { unpairedText } from './testing/chance-text.ts';

/** A tree in one line: `+a -b c` for must, must not and should. */
function show(node: QueryNode | null): string {
  if (node === null) return '(none)';
  const at = 'field' in node && node.field !== null ? `${node.field}:` : '';
  const boost = 'boost' in node && node.boost !== 1 ? `^${node.boost}` : '';
  switch (node.type) {
    case 'all':
      return '*';
    case 'term':
      return `${at}${node.text}${boost}`;
    case 'phrase':
      return `${at}"${node.text}"${node.slop > 0 ? `~${node.slop}` : ''}${boost}`;
    case 'wildcard':
      return `${at}${node.parts.map((part) => ('literal' in part ? part.literal : part.any === 'many' ? '*' : '?')).join('')}${boost}`;
    case 'fuzzy':
      return `${at}${node.text}~${node.distance ?? ''}${boost}`;
    case 'exists':
      return `exists(${node.field})`;
    case 'range':
      return (
        `${at}${node.lower?.isInclusive === false ? '{' : '['}${node.lower?.value ?? '*'}` +
        ` TO ${node.upper?.value ?? '*'}${node.upper?.isInclusive === false ? '}' : ']'}`
      );
    case 'bool':
      return `(${[
        ...node.must.map((inner) => `+${show(inner)}`),
        ...node.should.map(show),
        ...node.mustNot.map((inner) => `-${show(inner)}`),
      ].join(' ')})`;
  }
}

function refusal(text: string, limits?: QueryLimits): unknown {
  try {
    return show(parseQuery(text, limits));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { kind: error.kind, message: error.message, code: error.code, issues: error.issues };
  }
}

/** Milliseconds of processor time, the best of three: neither a busy machine nor a collection counts. */
function costMs(work: () => void): number {
  const once = () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  return Math.min(once(), once(), once());
}

describe('parseQuery', () => {
  test.each([
    ['', '(none)'],
    ['  ', '(none)'],
    ['flood', 'flood'],
    ['flood risk', '(flood risk)'],
    ['flood AND risk', '(+flood +risk)'],
    ['flood && risk', '(+flood +risk)'],
    ['flood OR risk', '(flood risk)'],
    ['flood || risk', '(flood risk)'],
    ['a AND b OR c', '(+a +b c)'],
    ['a OR b AND c', '(+b +c a)'],
    ['+a b -c', '(+a b -c)'],
    ['a NOT b', '(a -b)'],
    ['a AND NOT b', '(+a -b)'],
    ['!a', '(-a)'],
    ['-a', '(-a)'],
    ['(a OR b) AND c', '(+(a b) +c)'],
    ['((a))', 'a'],
    ['-(a b)', '(-(a b))'],
    ['metadata.title:zebra', 'metadata.title:zebra'],
    ['metadata.title: zebra', 'metadata.title:zebra'],
    ['metadata.title:"zebra map"', 'metadata.title:"zebra map"'],
    ['metadata.title:(zebra OR lion) dog', '((metadata.title:zebra metadata.title:lion) dog)'],
    ['a:(b c:d)', '(a:b c:d)'],
    ['"flood risk"~2', '"flood risk"~2'],
    ['title:flood creators.name:"A B"', '(metadata.title:flood metadata.creators.person_or_org.name:"A B")'],
    ['title.keyword:A _exists_:description', '(metadata.title.keyword:A exists(metadata.description))'],
    [
      'creators.person_or_org.identifiers.identifier:x',
      'metadata.creators.person_or_org.identifiers.identifier:x',
    ],
    [
      'keywords:(a b)^2 doi:"10.5/x" language:eng',
      '((metadata.subjects.subject:a^2 metadata.subjects.subject:b^2) pids.doi.identifier:"10.5/x" metadata.languages.id:eng)',
    ],
    ['id:a parent.id:b created:2020 titles:x', '(id:a parent.id:b created:2020 titles:x)'],
    [
      'created:>2020-01-01T00:00:00Z AND updated:<="2021-01-01T00:00"',
      '(+created:{2020-01-01T00:00:00Z TO *] +updated:[* TO 2021-01-01T00:00])',
    ],
    ['(a:>1) b:<2^3', '(a:{1 TO *] b:[* TO 2})'],
    ['a:[1 TO 2} b:{* TO 3]^2', '(a:[1 TO 2} b:[* TO 3])'],
    ['_exists_:a^2 *:*^2 _exists_:"a b"', '(exists(a) * exists(a b))'],
    ['+a -b !c && d || e', '(+a +d e -b -c)'],
    ['a && !b || NOT c', '(+a -b -c)'],
    ['flod~ a:risc~1^2 (maps~0)^3', '(flod~ a:risc~1^2 maps~0^3)'],
    ['flo\\*d~ a\\~', '(flo*d~ a~)'],
    ['flo*', 'flo*'],
    ['metadata.title:flo?d*', 'metadata.title:flo?d*'],
    ['geo-bon* ação*', '(geo-bon* ação*)'],
    ['id:a..*', 'id:a..*'],
    ['id:deep-flo? ice-flo** -ice?', '(id:deep-flo? ice-flo** -ice?)'],
    ['*', '*'],
    ['*:*', '*'],
    ['*:flood', 'flood'],
    ['metadata.version:*', 'exists(metadata.version)'],
    ['_exists_:metadata.version', 'exists(metadata.version)'],
    ['created:[2020 TO 2021]', 'created:[2020 TO 2021]'],
    ['created:{2020 TO 2021-05-06T07:08}', 'created:{2020 TO 2021-05-06T07:08}'],
    ['created:[2020 TO *}', 'created:[2020 TO *]'],
    ['created:["2020-01-01" TO 2021]', 'created:[2020-01-01 TO 2021]'],
    ['versions.index:>1', 'versions.index:{1 TO *]'],
    ['versions.index:<=1', 'versions.index:[* TO 1]'],
    ['a^2 b^0.5', '(a^2 b^0.5)'],
    ['(a "b c")^3', '(a^3 "b c"^3)'],
    ['C++', 'C++'],
    ['a-b', 'a-b'],
    ['10.5072/abc-def', '10.5072/abc-def'],
    ['https://doi.org/10.5072/x', 'https://doi.org/10.5072/x'],
    ['AT&T', 'AT&T'],
    ['\\(a\\) \\AND', '((a) AND)'],
    ['a\\:b', 'a:b'],
    ['a\\*b', 'a*b'],
    ['"a \\" b"', '"a " b"'],
    ['"AND"', '"AND"'],
    ['and or not', '(and or not)'],
    ['日本 ação', '(日本 ação)'],
  ])('reads %j', (text, tree) => {
    expect(show(parseQuery(text))).toBe(tree);
  });

  test.each([
    ['title:(((', 'The query ends too early at position 10.'],
    ['title:[ AND (', 'A range needs " TO " at position 12.'],
    ['(a', 'The parenthesis is not closed at position 1.'],
    ['a)', 'Unexpected ")" at position 2.'],
    ['()', 'Unexpected ")" at position 2.'],
    ['"a', 'The quotation mark is not closed at position 1.'],
    ['AND a', 'Unexpected "AND" at position 1.'],
    ['a AND', 'Nothing follows "AND" at position 3.'],
    ['a OR OR b', 'Unexpected "OR" at position 6.'],
    ['NOT', 'Nothing follows "NOT" at position 1.'],
    ['-', 'Nothing follows "-" at position 1.'],
    ['a:', 'Nothing follows ":" at position 2.'],
    [':a', 'Unexpected ":" at position 1.'],
    ['a:b:c', 'Unexpected ":" (quote the value or escape it) at position 4.'],
    ['a]', 'Unexpected "]" at position 2.'],
    ['a:[1 TO', 'The range is not closed at position 3.'],
    ['a:[1 TO 2', 'The range is not closed at position 3.'],
    ['[1 TO 2]', 'A range needs a field at position 1.'],
    ['/a.*b/', 'Regular expressions are not supported: unescaped "/" at position 1.'],
    ['a/b:/x/', 'Regular expressions are not supported: unescaped "/" at position 5.'],
    ['ab*:c', 'The name of a field takes no wildcards at position 1.'],
    ['_exists_:(a b)', 'Unexpected "(" at position 10.'],
    ['_exists_:ti*', 'The name of a field takes no wildcards at position 10.'],
    ['*:>1', 'Unexpected ">" at position 3.'],
    ['(a b)~2', 'Unexpected "~" at position 6.'],
    ['a^x', '"^" needs a number at position 2.'],
    ['NOT NOT a', 'Unexpected "NOT" at position 5.'],
    ['a:[1 TO 2', 'The range is not closed at position 3.'],
    ['a:[1 2]', 'A range needs " TO " at position 5.'],
    ['a:[TO 2]', 'A range needs " TO " at position 6.'],
    ['a~3', '"~" after a word takes the number of characters that may differ, at most 2 at position 2.'],
    ['a~0.5', '"~" after a word takes the number of characters that may differ, at most 2 at position 2.'],
    ['word*~', 'A word has either wildcards or "~": escape one of them at position 6.'],
    ['a^', '"^" needs a number at position 2.'],
    ['a\\', 'Nothing follows the escape at position 2.'],
    ['x deep-flo?', 'After several words only "*" at the end of them is possible at position 3.'],
    ['title:deep-flo*d', 'After several words only "*" at the end of them is possible at position 7.'],
    ['日本flo?', 'After several words only "*" at the end of them is possible at position 1.'],
    ['versions.index:>', 'Nothing to compare with follows ">" at position 16.'],
  ])('refuses %j', (text, message) => {
    expect(refusal(text)).toEqual({
      kind: 'invalid',
      message: 'Invalid query string syntax.',
      code: 'query_syntax',
      issues: [{ field: 'q', messages: [message] }],
    });
  });

  test.each([
    ['too long a text', 'a'.repeat(1_025), 'The query is longer than 1024 characters at position 1025.'],
    ['too many clauses', 'a '.repeat(65), 'More than 64 clauses at position 129.'],
    [
      'too deep nesting',
      `${'('.repeat(11)}a${')'.repeat(11)}`,
      'More than 10 parentheses within each other at position 11.',
    ],
    ['too many wildcards', 'abc* '.repeat(6), 'More than 5 words with wildcards at position 26.'],
    [
      'a leading wildcard',
      '*bc',
      'A wildcard needs at least 3 characters of its word before it at position 1.',
    ],
    [
      'an early wildcard',
      'x ab*',
      'A wildcard needs at least 3 characters of its word before it at position 3.',
    ],
    [
      'a letter and dots before a wildcard',
      'x a..*',
      'A wildcard needs at least 3 characters of its word before it at position 3.',
    ],
    [
      'a short last word before a wildcard',
      'title:geo-b*',
      'A wildcard needs at least 3 characters of its word before it at position 7.',
    ],
    [
      'no word before a wildcard',
      '...*',
      'A wildcard needs at least 3 characters of its word before it at position 1.',
    ],
    ['too many words with "~"', 'a~ b~ c~ d~', 'More than 3 words with "~" at position 10.'],
    ['too much slop', '"a b"~11', 'Words may be at most 10 places apart at position 6.'],
  ])('calls %s too complex', (_, text, message) => {
    expect(refusal(text)).toEqual({
      kind: 'invalid',
      message: 'Invalid query string syntax.',
      code: 'query_too_complex',
      issues: [{ field: 'q', messages: [message] }],
    });
  });

  test('answers any text with a tree or with a refusal', () => {
    const random = seededRandom(1);
    for (let n = 0; n < 3_000; n += 1) refusal(unpairedText(random));
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 1_100 }), (text) => {
        refusal(text);
      }),
      { seed: 1, numRuns: 2_000 },
    );
  });

  test.each(['(', '"', '[a ', '\\', 'a:', '*', '<', 'http://', '^', '+', 'a AND ', '\ud800', '-('])(
    'takes no longer than 50 ms for 10 KB of %j',
    (scrap) => {
      const limits = {
        ...QUERY_LIMITS,
        maxLength: 20_000,
        maxClauses: 1e6,
        maxDepth: 500,
        maxWildcards: 1e6,
        maxScans: 1e6,
      };
      const text = scrap.repeat(10_000 / scrap.length);
      expect(costMs(() => refusal(text, { ...limits, minWildcardPrefix: 0 }))).toBeLessThan(500);
    },
  );
});

test('few clauses may compare all words of the documents', () => {
  const limits = { ...QUERY_LIMITS, maxScans: 2 };
  const places = (text: string) => {
    try {
      parseQuery(text, limits);
      return 'taken';
    } catch (error) {
      return (error as ServiceError).issues[0]?.messages[0]?.replace(/.* at position/, 'refused at');
    }
  };
  expect(places('abc*z def*z ghi*z jkl*z mno*z')).toBe('refused at 13.');
  expect(places('id:[a TO *] OR (abc*z AND NOT title:>m)')).toMatch(/^refused at/);
  expect(places('abc*z def?z ghi* jkl* mno*')).toBe('taken');
  expect(places('id:[* TO *] id:[a TO b] id:>c created:[2026 TO *] versions.index:>1')).toBe('taken');
});

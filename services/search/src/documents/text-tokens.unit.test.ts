import { describe, expect, test } from '@jest/globals';
import { htmlText, textTokens } from './text-tokens.ts';

describe('textTokens', () => {
  test.each<[text: string, tokens: string[]]>([
    ['Zebra migration, 2019', ['zebra', 'migration', '2019']],
    ['GEO-BON / AQUA_WATCH', ['geo', 'bon', 'aqua_watch']],
    ['Ação em Römäns’ Straße', ['acao', 'em', 'romans', 'strasse']],
    ["Earth's 3.14 v1.2 e.g. 1,000", ["earth's", '3.14', 'v1.2', 'e.g', '1,000']],
    ['10.5072/abc-def', ['10.5072', 'abc', 'def']],
    ['日本の水 ひと', ['日', '本', 'の', '水', 'ひ', 'と']],
    ['Привет Ёлка', ['привет', 'елка']],
    ['ﬁre ①', ['fire', '1']],
    ['…!!! <>=?', []],
    ['x'.repeat(500), ['x'.repeat(200)]],
  ])('%j', (text, tokens) => {
    expect(textTokens(text)).toEqual(tokens);
  });

  test.each(["a'", 'a.', '.', "'", '日', '1,', 'ß', '\u0301'])('is linear in 100 KB of %j', (scrap) => {
    const started = performance.now();
    textTokens(scrap.repeat(100_000 / scrap.length));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

describe('htmlText', () => {
  test.each([
    ['<p>A <b>map</b>.</p>', ' A  map . '],
    ['a &amp; b &lt;c&gt; &#233;&#xe9; &nbsp;&unknown;', 'a & b <c> éé  &unknown;'],
    ['1 < 2 > 1', '1   1'],
    ['&#1114112;&#0;', '  '],
  ])('%j', (html, text) => {
    expect(htmlText(html)).toBe(text);
  });

  test('is linear in unclosed text', () => {
    const started = performance.now();
    htmlText('<a '.repeat(100_000));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

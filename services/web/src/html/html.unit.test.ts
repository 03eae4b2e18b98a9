import { describe, expect, test } from '@jest/globals';
import { html, trusted } from './html.ts';
import { jsonBlock } from './layout.ts';
import { depositedHtml, renderMarkdown } from './rich-text.ts';

describe('html', () => {
  test('escapes every value but markup', () => {
    const hostile = `<script>"&'`;
    expect(html`<a title="${hostile}">${hostile}${trusted('<b>')}</a>`.text).toBe(
      '<a title="&lt;script&gt;&quot;&amp;&#39;">&lt;script&gt;&quot;&amp;&#39;<b></a>',
    );
  });

  test('joins lists and leaves out nothing', () => {
    expect(html`${[1, 'a', html`<i>${null}</i>`]}${undefined}${false}${0}`.text).toBe('1a<i></i>0');
  });

  test('no text ends a data block', () => {
    expect(jsonBlock('application/json', { a: '</script><!--' }).text).toBe(
      '<script type="application/json">{"a":"\\u003c/script>\\u003c!--"}</script>',
    );
  });
});

describe('texts of depositors', () => {
  test.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<a href="javascript:alert(1)">x</a>',
    '<p style="position:fixed" onclick="x()" class="skip">y</p>',
    '<iframe src="https://example.org"></iframe><form action="/x"></form>',
    '<svg><a href="x"></a></svg>',
  ])('%s runs and loads nothing', (markup) => {
    for (const { text } of [depositedHtml(markup), renderMarkdown(markup)])
      expect(text).not.toMatch(
        /<(?:script|img|iframe|form|svg)|<[^>]*href="javascript|<[^>]*\b(?:style|onclick|class)=/,
      );
  });

  test('Markdown has headings below those of the page, and no images', () => {
    expect(renderMarkdown('# A\n\n![x](https://example.org/x.png)').text).not.toMatch(/<h1|<img/);
  });
});

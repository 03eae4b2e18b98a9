import { describe, expect, test } from '@jest/globals';
import { proseFindings } from '../../scripts/prose/check-prose.ts';
import { PATTERNS } from '../../scripts/prose/patterns.ts';

const EXAMPLES = PATTERNS.map(({ name, example }) => ({ name, example }));

describe('the prose check', () => {
  test.each(EXAMPLES)('finds "$name" in every kind of file', ({ name, example }) => {
    const planted = {
      'block-comment.ts': `/** ${example} */\nexport const a = 1;\n`,
      'line-comment.ts': `export const a = 1;\n// ${example}\n`,
      'message.ts': `export const a = { message: '${example.replaceAll("'", "\\'")}' };\n`,
      'template.ts': `export const a = (b: string) => \`\${b} x. ${example}\`;\n`,
      'page.md': `# Title\n\nA paragraph. ${example}\n`,
      'table.md': `| a | b |\n|---|---|\n| x | ${example} |\n`,
      'chart.yaml': `# ${example}\nkey: value\n`,
      'openapi.yaml': `description: ${example}\n`,
      'service.proto': `// ${example}\nmessage A {}\n`,
      'table.sql': `-- ${example}\nSELECT 1;\n`,
    };
    const missed = Object.entries(planted)
      .filter(([file, text]) => !proseFindings(file, text).some((finding) => finding.includes(` ${name}: `)))
      .map(([file]) => file);
    expect(missed).toEqual([]);
  });

  test('names the line, also of a phrase across a line break', () => {
    const text = '/**\n * One line.\n * The place is given\n * back.\n */\nexport const a = 1;\n';
    expect(proseFindings('a.ts', text)).toEqual([
      'a.ts:3 give back: "given back"; use: return, release, stop, yield',
    ]);
  });

  test('accepts plain sentences, code in backticks and code blocks', () => {
    const text =
      'The client retries. Why does it retry?\n\nSet `told` first.\n\n```sh\nask whoever # is told\n```\n';
    expect(proseFindings('a.md', text)).toEqual([]);
    expect(proseFindings('a.ts', "export const told = ['asked', 'says'];\n")).toEqual([]);
  });
});

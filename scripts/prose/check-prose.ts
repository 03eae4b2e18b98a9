/**
 * Checks the language of comments, messages, Markdown, YAML and protos against `patterns.ts`.
 * `node scripts/prose/check-prose.ts [FILE…]` checks these files, or all files except the pending folders.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { proseBlocks } from './blocks.ts';
import { PATTERNS } from './patterns.ts';

const root = resolve(import.meta.dirname, '../..');

/** Recorded answers of the original API, generated code, measurements, the patterns themselves, and symbolic links. */
const EXEMPT =
  /^test\/contract\/recorded\/|\/gen\/|^scripts\/prose\/|^test\/contract\/prose\.unit|^pnpm-lock\.yaml$|^bench\/results\/|^services\/\w+\/prisma\/lifecycle\.prisma$/;

if (process.argv[1] === import.meta.filename) {
  const findings = checkProse(process.argv.slice(2));
  process.stdout.write(findings.map((finding) => `${finding}\n`).join(''));
  process.exitCode = findings.length === 0 ? 0 : 1;
}

export function checkProse(files: readonly string[] = []): string[] {
  const checked = files.length > 0 ? files : projectFiles();
  return checked.flatMap((file) => proseFindings(file, readFileSync(resolve(root, file), 'utf8')));
}

/** One line per finding: place, pattern, the words found, and a replacement. */
export function proseFindings(file: string, text: string): string[] {
  return proseBlocks(file, text).flatMap((block) => {
    const prose = block.text.replace(/`[^`\n]*`/g, '`x`').replace(/https?:\/\/\S+/g, 'x');
    return PATTERNS.flatMap(({ name, pattern, instead }) =>
      [...prose.matchAll(pattern)].map((match) => {
        const line = block.line + (prose.slice(0, match.index).match(/\n/g)?.length ?? 0);
        return `${file}:${line} ${name}: "${match[0].trim().replace(/\s+/g, ' ')}"; use: ${instead}`;
      }),
    );
  });
}

function projectFiles(): string[] {
  const options = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  return execFileSync('git', options, { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && !EXEMPT.test(file));
}

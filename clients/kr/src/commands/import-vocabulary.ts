import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError } from '../cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { AdminOptions } from './context.ts';
import { readTerms, type VocabularyTerm } from './vocabulary-file.ts';

/**
 * `kr admin vocabulary import TYPE FILE`: adds a file's entries to the entries that the operator added before; an entry with an existing
 * id replaces it. Running services read the change. Unusable entries are listed and omitted.
 */
export async function importVocabulary(
  terminal: Terminal,
  type: string,
  file: string,
  options: AdminOptions,
): Promise<void> {
  // Only this command knows the vocabularies; the others start without them.
  const { isVocabularyType, RELEASED_VOCABULARIES } = await import('@kr/metadata');
  if (!isVocabularyType(type))
    throw new CliError(`there is no vocabulary "${type}"; see docs/vocabularies.md`);
  const { terms, refused } = await readTerms(file);
  if (terms.length === 0 && refused.length > 0) {
    const reasons = refused.map(({ entry, reason }) => `  entry ${entry}: ${reason}`);
    throw new CliError([`no entry of ${file} can be used:`, ...reasons].join('\n'));
  }
  const folder = join(await existing(options.dataDirs), 'vocabularies');
  const target = join(folder, `${type}.json`);

  const merged = new Map((await readAdded(target)).map((term) => [term.id, term]));
  const replaced = terms.filter(
    ({ id }) => merged.has(id) || RELEASED_VOCABULARIES.lookup(type, id) !== undefined,
  ).length;
  for (const term of terms) merged.set(term.id, term);
  await mkdir(folder, { recursive: true });
  const aside = `${target}.${process.pid}`;
  await writeFile(aside, `${JSON.stringify([...merged.values()], null, 2)}\n`);
  await rename(aside, target);

  const report = { type, added: terms.length - replaced, replaced, refused };
  if (options.json) terminal.print(JSON.stringify(report, null, 2));
  else {
    for (const { entry, reason } of refused) terminal.note(`entry ${entry} is skipped: ${reason}`);
    terminal.print(`${type}: ${report.added} added, ${replaced} replaced, ${refused.length} skipped`);
  }
}

async function existing(dataDirs: readonly string[]): Promise<string> {
  for (const folder of dataDirs) {
    if (
      await stat(folder).then(
        (found) => found.isDirectory(),
        () => false,
      )
    )
      return folder;
  }
  throw new CliError(
    `No data folder at ${dataDirs.join(' or ')}. \`npm start\` makes one; --data-dir names another.`,
  );
}

async function readAdded(file: string): Promise<VocabularyTerm[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]';
    throw new CliError(`cannot read ${file}: ${error.code}`);
  });
  try {
    return JSON.parse(text) as VocabularyTerm[];
  } catch {
    throw new CliError(`${file} is not valid JSON; repair or remove it, then import again`);
  }
}

import { readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { CliError } from '../cli-error.ts';

const DEFINITION_FILE = 'knowledge-package.json';

/** A file to upload: its key is its name without folders. */
export interface LocalFile {
  key: string;
  path: string;
  size: number;
}

/** One entity to create. */
export interface EntityDefinition {
  /** The request body for its draft, from its metadata file. */
  document: Record<string, unknown>;
  files: readonly LocalFile[];
  includeDoi: boolean;
}

/** A package with its resources, as a folder describes it. */
export interface PackageDefinition {
  package: EntityDefinition;
  resources: readonly EntityDefinition[];
}

/**
 * Reads a folder's `knowledge-package.json`, its metadata documents and the sizes of its files. Paths in it are
 * relative to the folder.
 *
 * @throws CliError naming every problem found, so that nothing is sent of a folder that is incomplete
 */
export async function readDefinition(folder: string): Promise<PackageDefinition> {
  const problems: string[] = [];
  const root = await readObject(join(folder, DEFINITION_FILE), DEFINITION_FILE, problems);
  if (root === undefined) throw new CliError(problems.join('\n'));

  problems.push(...unknownKeys(root, ['knowledge_package', 'resources'], DEFINITION_FILE));
  const main = await readEntity(folder, root['knowledge_package'], 'knowledge_package', problems);
  const listed = root['resources'] ?? [];
  if (!Array.isArray(listed)) problems.push(`${DEFINITION_FILE}: resources is not a list`);
  const resources = await Promise.all(
    (Array.isArray(listed) ? listed : []).map((item, index) =>
      readEntity(folder, item, `resources.${index}`, problems),
    ),
  );
  if (problems.length > 0) {
    throw new CliError(
      [`${folder} cannot be loaded:`, ...problems.map((problem) => `  ${problem}`)].join('\n'),
    );
  }
  return { package: main, resources };
}

async function readEntity(
  folder: string,
  item: unknown,
  name: string,
  problems: string[],
): Promise<EntityDefinition> {
  const where = `${DEFINITION_FILE}: ${name}`;
  if (!isObject(item)) {
    problems.push(`${where} is ${item === undefined ? 'missing' : 'not an object'}`);
    return { document: {}, files: [], includeDoi: false };
  }
  const { metadata_file: metadataFile, files = [], options = {} } = item;
  problems.push(...unknownKeys(item, ['metadata_file', 'files', 'options'], where));
  if (isObject(options)) problems.push(...unknownKeys(options, ['include_doi'], `${where}.options`));
  const includeDoi = isObject(options) ? (options['include_doi'] ?? false) : options;
  if (typeof includeDoi !== 'boolean') problems.push(`${where}.options.include_doi is not true or false`);
  if (!isTexts(files)) problems.push(`${where}.files is not a list of paths`);
  const localFiles = await Promise.all(
    (isTexts(files) ? files : []).map((path) => readFileEntry(folder, path, problems)),
  );
  for (const key of repeated(localFiles.map((file) => file.key))) {
    problems.push(`${where}.files has two files named ${key}`);
  }
  return {
    document: await readDocument(folder, metadataFile, `${where}.metadata_file`, problems),
    files: localFiles,
    includeDoi: includeDoi === true,
  };
}

function unknownKeys(value: object, allowed: readonly string[], where: string): string[] {
  return Object.keys(value)
    .filter((key) => !allowed.includes(key))
    .map((key) => `${where} has an unknown key "${key}"; allowed: ${allowed.join(', ')}`);
}

async function readDocument(
  folder: string,
  path: unknown,
  where: string,
  problems: string[],
): Promise<Record<string, unknown>> {
  if (typeof path === 'string') return (await readObject(resolve(folder, path), path, problems)) ?? {};
  problems.push(`${where} is ${path === undefined ? 'missing' : 'not a path'}`);
  return {};
}

async function readFileEntry(folder: string, path: string, problems: string[]): Promise<LocalFile> {
  const absolute = resolve(folder, path);
  const found = await stat(absolute).catch(() => undefined);
  if (found?.isFile() !== true) problems.push(`${path} is ${found === undefined ? 'missing' : 'not a file'}`);
  return { key: basename(absolute), path: absolute, size: found?.size ?? 0 };
}

async function readObject(
  file: string,
  name: string,
  problems: string[],
): Promise<Record<string, unknown> | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (isObject(value)) return value;
    problems.push(`${name} is not a JSON object`);
  } catch (error) {
    problems.push(whyUnread(error, file, name));
  }
  return undefined;
}

function whyUnread(error: unknown, file: string, name: string): string {
  if (error instanceof SyntaxError) return `${name} is not JSON: ${error.message}`;
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR' ? `${file} is missing` : `${file} cannot be read: ${code}`;
}

function repeated(keys: readonly string[]): Set<string> {
  return new Set(keys.filter((key, index) => keys.indexOf(key) !== index));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

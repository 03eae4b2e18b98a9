import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

export interface ExampleEntity {
  document: { metadata: Record<string, unknown> };
  files: { key: string; bytes: Buffer }[];
  wantsDoi: boolean;
}

export interface ExamplePackage {
  main: ExampleEntity;
  resources: ExampleEntity[];
}

interface EntityDefinition {
  metadata_file: string;
  files: string[];
  options: { include_doi: boolean };
}

const project = resolve(import.meta.dirname, '../../..');

/** The example packages that are there: ours, and where it lies beside the checkout, one that its authors published. */
export const EXAMPLE_FOLDERS: readonly string[] = [
  join(project, 'examples/flood-package'),
  join(project, '../shared/examples/knowledge-package'),
].filter((folder) => existsSync(folder));

export async function readExamplePackage(folder: string): Promise<ExamplePackage> {
  const { knowledge_package, resources } = await readJson(folder, 'knowledge-package.json');
  const readEntity = async (entity: EntityDefinition): Promise<ExampleEntity> => ({
    document: await readJson(folder, entity.metadata_file),
    files: await Promise.all(
      entity.files.map(async (path) => ({ key: basename(path), bytes: await readFile(join(folder, path)) })),
    ),
    wantsDoi: entity.options.include_doi,
  });
  return {
    main: await readEntity(knowledge_package),
    resources: await Promise.all(resources.map(readEntity)),
  };
}

async function readJson(folder: string, name: string) {
  return JSON.parse(await readFile(join(folder, name), 'utf8'));
}

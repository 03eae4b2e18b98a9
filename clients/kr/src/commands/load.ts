import { linkOf } from '../api/entity.ts';
import { readDefinition } from '../load/definition.ts';
import { type LoadedEntity, type LoadedPackage, loadPackage } from '../load/load-package.ts';
import { transferProgress } from '../terminal/transfer-progress.ts';
import type { CommandContext } from './context.ts';

export interface LoadOptions {
  publish: boolean;
  json: boolean;
  concurrency: number;
}

/** `kr package load DIR`: creates a package with its resources from a folder, and publishes it on request. */
export async function load(
  { terminal, connect }: CommandContext,
  folder: string,
  options: LoadOptions,
): Promise<void> {
  const definition = await readDefinition(folder);
  const api = await connect();
  const files = [definition.package, ...definition.resources].flatMap((entity) => entity.files);
  const total = { files: files.length, bytes: files.reduce((sum, { size }) => sum + size, 0) };
  const progress = transferProgress(terminal, 'uploaded', total);
  const ports = { api, progress, note: terminal.note, concurrency: options.concurrency };
  const loaded = await loadPackage(ports, definition, options);
  if (options.json) terminal.print(JSON.stringify(toJson(loaded), null, 2));
  else for (const line of toLines(loaded)) terminal.print(line);
}

function toJson({ package: main, resources }: LoadedPackage): object {
  return { package: entityJson(main), resources: resources.map(entityJson) };
}

function entityJson({ kind, entity, files }: LoadedEntity): object {
  return {
    id: entity.id,
    kind,
    title: entity.metadata.title ?? null,
    is_published: entity.is_published,
    doi: entity.pids?.doi?.identifier ?? null,
    links: { self: linkOf(entity, 'self'), self_html: entity.links['self_html'] ?? null },
    files: files.map(({ key, size, checksum }) => ({ key, size, checksum })),
  };
}

function toLines({ package: main, resources }: LoadedPackage): string[] {
  const state = main.entity.is_published ? 'Published' : 'Draft';
  return [
    `${state} package with ${resources.length} resources`,
    ...[main, ...resources].flatMap(entityLines),
  ];
}

function entityLines({ kind, entity, files }: LoadedEntity): string[] {
  const doi = entity.pids?.doi?.identifier;
  return [
    `${kind === 'package' ? 'package ' : 'resource'}  ${entity.id}  ${entity.metadata.title ?? ''}`,
    ...(doi === undefined ? [] : [`  doi    ${doi}`]),
    `  link   ${linkOf(entity, 'self')}`,
    ...(files.length === 0 ? [] : [`  files  ${files.map(({ key }) => key).join(', ')}`]),
  ];
}

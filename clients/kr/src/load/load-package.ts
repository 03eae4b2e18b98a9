import pMap from 'p-map';
import type { ApiClient } from '../api/api-client.ts';
import { ApiError, describe, type FieldError } from '../api/api-error.ts';
import {
  COLLECTIONS,
  type Entity,
  type EntityKind,
  type FileEntry,
  type FilesListing,
  linkOf,
} from '../api/entity.ts';
import { checksumOf } from '../checksum.ts';
import { CliError } from '../cli-error.ts';
import type { TransferProgress } from '../terminal/transfer-progress.ts';
import type { EntityDefinition, LocalFile, PackageDefinition } from './definition.ts';

/** The loaded package in the repository. */
export interface LoadedPackage {
  package: LoadedEntity;
  resources: LoadedEntity[];
}

export interface LoadedEntity {
  kind: EntityKind;
  entity: Entity;
  files: FileEntry[];
}

export interface LoadPorts {
  api: ApiClient;
  progress: TransferProgress;
  /** Messages about the progress, for people. */
  note: (line: string) => void;
  /** How many requests may run at once. */
  concurrency: number;
}

// The service takes this many ids in one request.
const MAX_IDS = 100;

/**
 * Creates a package and its resources as drafts, uploads their files, reserves DOIs, adds the resources to the
 * package's context and its draft version and, on request, publishes all at once.
 * @throws CliError or ApiError; the drafts created before stay, and the message names them
 */
export async function loadPackage(
  ports: LoadPorts,
  definition: PackageDefinition,
  options: { publish: boolean },
): Promise<LoadedPackage> {
  const created: Entity[] = [];
  try {
    return await load(ports, definition, options, created);
  } catch (error) {
    if (!(error instanceof CliError) || created.length === 0) throw error;
    const ids = created.map(({ id }) => id).join(', ');
    throw new CliError(`${error.message}\nDrafts that were created and still exist: ${ids}`, {
      cause: error,
    });
  }
}

async function load(
  ports: LoadPorts,
  definition: PackageDefinition,
  { publish }: { publish: boolean },
  created: Entity[],
): Promise<LoadedPackage> {
  const { api, note, concurrency } = ports;
  const definitions = [definition.package, ...definition.resources];
  const drafts = await pMap(
    definitions,
    async (item, index) => {
      const draft = await createDraft(ports, index === 0 ? 'package' : 'record', item);
      created.push(draft.entity);
      return draft;
    },
    { concurrency },
  );
  await uploadAll(ports, drafts);
  await pMap(drafts, (draft) => finishDraft(ports, draft), { concurrency });

  const [main, ...resources] = drafts.map(({ loaded }) => loaded);
  if (main === undefined) throw new CliError('the definition has no package');
  if (resources.length > 0) await relate(api, main.entity, resources);
  if (!publish) return { package: main, resources };

  note(`publishing ${main.entity.id} with ${resources.length} resources`);
  // When repeated after a lost answer, the service returns the published package.
  const target = linkOf(main.entity, 'publish');
  main.entity = await api.call<Entity>({ method: 'POST', target, isRepeatable: true });
  await pMap(resources, (resource) => readPublished(api, resource), { concurrency });
  return { package: main, resources };
}

interface Draft {
  definition: EntityDefinition;
  entity: Entity;
  loaded: LoadedEntity;
}

async function createDraft(
  { api, note }: LoadPorts,
  kind: EntityKind,
  definition: EntityDefinition,
): Promise<Draft> {
  const entity = await api.call<Entity>({
    method: 'POST',
    target: COLLECTIONS[kind],
    json: definition.document,
  });
  note(`created ${kind} ${entity.id}  ${entity.metadata.title ?? ''}`);
  noteErrors(note, entity, definition);
  return { definition, entity, loaded: { kind, entity, files: [] } };
}

/** Errors about a preview file that is not uploaded yet are reported later, if they remain. */
function noteErrors(
  note: LoadPorts['note'],
  { id, errors = [] }: Entity,
  definition: EntityDefinition,
): void {
  const isPremature = ({ field }: FieldError): boolean =>
    definition.files.length > 0 && field?.startsWith('files.') === true;
  for (const error of errors.filter((item) => !isPremature(item))) note(`  ${id} ${describe(error)}`);
}

async function uploadAll({ api, progress, concurrency }: LoadPorts, drafts: readonly Draft[]): Promise<void> {
  const started = await pMap(drafts, (draft) => startUploads(api, draft), { concurrency });
  try {
    await pMap(
      started.flat(),
      async ({ draft, entry, file, position }) => {
        draft.loaded.files[position] = await sendFile(api, entry, file, progress.advance);
        progress.finished(file.key, file.size);
      },
      { concurrency },
    );
  } finally {
    progress.end();
  }
}

interface StartedUpload {
  draft: Draft;
  entry: FileEntry;
  file: LocalFile;
  position: number;
}

async function startUploads(api: ApiClient, draft: Draft): Promise<StartedUpload[]> {
  const { files } = draft.definition;
  if (files.length === 0) return [];
  const json = files.map(({ key }) => ({ key }));
  const { entries = [] } = await orAsItIs(
    () =>
      api.call<FilesListing>({
        method: 'POST',
        target: linkOf(draft.entity, 'files'),
        json,
        isRepeatable: true,
      }),
    () => api.call<FilesListing>({ method: 'GET', target: linkOf(draft.entity, 'files') }),
  );
  return files.map((file, position) => {
    const entry = entries.find(({ key }) => key === file.key);
    if (entry === undefined)
      throw new CliError(`the service did not start ${file.key} of ${draft.entity.id}`);
    return { draft, entry, file, position };
  });
}

/** @throws CliError when the service stored other bytes than the file has */
async function sendFile(
  api: ApiClient,
  entry: FileEntry,
  { path }: LocalFile,
  advance: (bytes: number) => void,
): Promise<FileEntry> {
  await api.upload(linkOf(entry, 'tus'), path, advance);
  const target = linkOf(entry, 'commit');
  const committed = await api.call<FileEntry>({ method: 'POST', target, isRepeatable: true });
  const checksum = await checksumOf(path);
  if (committed.checksum === checksum) return committed;
  const stored = committed.checksum ?? 'no checksum';
  throw new CliError(
    `${path} was corrupted during upload: local checksum ${checksum}, stored checksum ${stored}. Run the command again.`,
  );
}

/** Steps that need the files, and steps at the end because a change of the draft could undo them. */
async function finishDraft({ api, note }: LoadPorts, draft: Draft): Promise<void> {
  const { document, includeDoi } = draft.definition;
  if (namesPreview(document)) {
    const target = linkOf(draft.entity, 'self');
    draft.loaded.entity = await api.call<Entity>({ method: 'PUT', target, json: document });
    for (const error of draft.loaded.entity.errors ?? []) note(`  ${draft.entity.id} ${describe(error)}`);
  }
  if (!includeDoi) return;
  draft.loaded.entity = await orAsItIs(
    () =>
      api.call<Entity>({ method: 'POST', target: linkOf(draft.entity, 'reserve_doi'), isRepeatable: true }),
    () => api.call<Entity>({ method: 'GET', target: linkOf(draft.entity, 'self') }),
  );
}

function namesPreview({ files }: Record<string, unknown>): boolean {
  return (
    typeof files === 'object' &&
    files !== null &&
    'default_preview' in files &&
    files.default_preview !== null
  );
}

/** A step that refuses to be done twice was done before when its first answer got lost: then read what is there. */
async function orAsItIs<T>(step: () => Promise<T>, read: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof ApiError && error.status === 400 && /already/i.test(error.message)) return read();
    throw error;
  }
}

async function relate(api: ApiClient, main: Entity, resources: readonly LoadedEntity[]): Promise<void> {
  const ids = resources.map(({ entity }) => ({ id: entity.id }));
  for (let from = 0; from < ids.length; from += MAX_IDS) {
    const some = ids.slice(from, from + MAX_IDS);
    const associate = linkOf(main, 'context_associate');
    await api.call({ method: 'POST', target: associate, json: { records: some }, isRepeatable: true });
    const { errors } = await api.call<{ errors: FieldError[] }>({
      method: 'POST',
      target: linkOf(main, 'resources'),
      json: { resources: some },
      isRepeatable: true,
    });
    if (errors.length > 0) throw new ApiError(200, `resources were not added to ${main.id}:`, errors);
  }
}

async function readPublished(api: ApiClient, resource: LoadedEntity): Promise<void> {
  const target = `${COLLECTIONS.record}/${resource.entity.id}`;
  resource.entity = await api.call<Entity>({ method: 'GET', target });
}

import { deepStrictEqual } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Entity, FilesListing, Issue } from '../e2e/story/answers.ts';
import { accessStatus, fileProblems, isEmbargoed, type Kind, type Problem } from './document-rules.ts';
import {
  type Content,
  contentProblems,
  type Item,
  lastOf,
  latestOf,
  packagesOf,
  type World,
} from './reference-model.ts';

export type Form = 'draft' | 'published';

/** The owner's view of an entity, without values that depend on the clock or the server's address. */
export interface View {
  id: string;
  parent: string;
  manager: string | null;
  state: [isPublished: boolean, isDraft: boolean, status: string, hasExpiry: boolean];
  versions: { index: number; is_latest: boolean; is_latest_draft: boolean };
  pids: Record<string, string>;
  metadata: Record<string, unknown>;
  access: object;
  files: { enabled: boolean; preview: string | null; order: readonly string[] };
  related: string[];
  problems: Problem[];
}

export function expectedView(world: World, item: Item, form: Form): View {
  const { id, family, index, published } = item;
  const content = contentOf(item, form);
  const { doi, oai, files, access } = content;
  const isDraft = form === 'draft';
  return {
    id,
    parent: family.parentId,
    manager: family.managedBy?.parentId ?? null,
    state: [
      published !== undefined && (!isDraft || family.kind === 'packages'),
      isDraft,
      published !== undefined ? 'published' : index === 1 ? 'draft' : 'new_version_draft',
      isDraft,
    ],
    versions: { index, is_latest: latestOf(family) === item, is_latest_draft: lastOf(family) === item },
    pids: {
      ...(doi === 'none' ? {} : { doi: `10.5072/${id} by local` }),
      ...(oai ? { oai: `oai:localhost:${id} by oai` } : {}),
    },
    metadata: { ...content.metadata },
    access: {
      record: access.record,
      files: access.files,
      embargo: { reason: null, ...access.embargo, active: isEmbargoed(access) },
      status: accessStatus(access, item.files.length),
    },
    files: { enabled: files.enabled, preview: files.preview ?? null, order: files.order },
    related: relatedOf(world, item, isDraft),
    problems: isDraft ? sorted(contentProblems(content, family.kind)) : [],
  };
}

/** A published resource does not reveal unpublished packages. */
function relatedOf(world: World, item: Item, isDraft: boolean): string[] {
  if (item.family.kind === 'packages') return item.resources.map(({ id }) => id);
  const packages = packagesOf(world, item).filter(({ published }) => isDraft || published !== undefined);
  return packages.map(({ id }) => id).sort();
}

function contentOf(item: Item, form: Form): Content {
  const content = form === 'draft' ? item.draft : item.published;
  if (content === undefined) throw new Error(`${item.id} has no ${form}`);
  return content;
}

export function actualView(body: Entity, kind: Kind): View {
  const { relationship, parent, files, access } = body;
  return {
    id: body.id,
    parent: parent.id,
    manager:
      (parent as { relationship?: { managed_by?: { id?: string } } }).relationship?.managed_by?.id ?? null,
    state: [body.is_published, body.is_draft, body.status, body.expires_at !== undefined],
    versions: body.versions as View['versions'],
    pids: Object.fromEntries(
      Object.entries(body.pids).map(([name, { identifier, provider }]) => [
        name,
        `${identifier} by ${provider}`,
      ]),
    ),
    metadata: withoutDerived(body.metadata, kind),
    access,
    files: { enabled: files.enabled, preview: files.default_preview ?? null, order: files.order ?? [] },
    related: kind === 'packages' ? idsOf(relationship.resources) : idsOf(relationship.packages).sort(),
    problems: sorted((body.errors ?? []).filter(({ field }) => !field.startsWith('files'))),
  };
}

const idsOf = (list: { id: string }[] = []): string[] => list.map(({ id }) => id);

/** Titles of vocabulary terms and names of persons are made by the server. */
function withoutDerived({ ...metadata }: Record<string, unknown>, kind: Kind): Record<string, unknown> {
  const type = metadata['resource_type'] as { id: string } | undefined;
  if (kind === 'packages') {
    deepStrictEqual(type?.id, 'knowledge');
    delete metadata['resource_type'];
  } else if (type !== undefined) metadata['resource_type'] = { id: type.id };
  if (Array.isArray(metadata['creators'])) metadata['creators'] = metadata['creators'].map(withoutName);
  return metadata;
}

function withoutName(creator: { person_or_org: { type: string; name?: string } }) {
  const { name, ...person } = creator.person_or_org;
  return { person_or_org: person.type === 'personal' ? person : creator.person_or_org };
}

/** Files may have changed since the draft was saved; their problems must be current. */
export function falseFileProblems(errors: readonly Issue[] = [], item: Item): Issue[] {
  const { files } = contentOf(item, 'draft');
  const keys = item.files.map(({ key }) => key);
  const isTrue = new Set(fileProblems(files, keys).map((one) => JSON.stringify(one)));
  return errors.filter((one) => one.field.startsWith('files') && !isTrue.has(JSON.stringify(one)));
}

export function sorted(problems: readonly Problem[]): Problem[] {
  const key = ({ field, record = '', messages }: Problem) => `${record} ${field} ${messages.join()}`;
  return [...problems].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

export function expectedFiles(item: Item, form: Form): object {
  const { enabled, preview = null, order } = contentOf(item, form).files;
  if (!enabled) return { enabled };
  const entries = item.files.map(({ key, content, isCompleted }) =>
    isCompleted && content !== undefined
      ? { key, status: 'completed', size: content.length, checksum: checksumOf(content) }
      : { key, status: 'pending' },
  );
  return { enabled, preview, order, entries: entries.sort(byKey) };
}

export function actualFiles({ enabled, default_preview: preview, order, entries }: FilesListing): object {
  if (!enabled) return { enabled };
  return {
    enabled,
    preview,
    order,
    entries: entries
      .map(({ key, status, size, checksum }) =>
        status === 'completed' ? { key, status, size, checksum } : { key, status },
      )
      .sort(byKey),
  };
}

const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1);
const checksumOf = (content: string) => `md5:${createHash('md5').update(content).digest('hex')}`;

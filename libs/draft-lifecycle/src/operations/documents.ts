import { createHash } from 'node:crypto';
import { anonymous, type Principal } from '@kr/caller';
import type { EntityDocument, Form as FormName } from '@kr/contracts';
import type { Issue } from '@kr/service-error';
import type { LifecycleContext, LifecycleDeps } from '../context/context.ts';
import { isAllowedOn, viewOf } from '../model/access.ts';
import {
  baselineParts,
  renderEntity,
  type View,
  type VolatileParts,
  volatileParts,
} from '../model/document.ts';
import {
  type Entity,
  type EntityForm,
  type Form,
  relationsOf,
  type StoredDocument,
} from '../model/entity.ts';
import { type FileCounts, filesIssues, NO_FILES } from '../model/files.ts';
import { issuesOf } from '../model/issues.ts';
import type { DoiStates } from '../model/pids.ts';

/**
 * File counts of drafts, by id. Drafts without files may be absent. A draft whose files are disabled has none: files
 * cannot be disabled while there are any, nor added afterwards. So it needs no call.
 */
export async function draftCounts(
  { describeBuckets }: Pick<LifecycleDeps, 'describeBuckets'>,
  drafts: readonly { id: string; document: StoredDocument }[],
): Promise<ReadonlyMap<string, FileCounts>> {
  const ids = drafts.filter(({ document }) => document.files.enabled).map(({ id }) => id);
  return ids.length === 0 ? new Map() : describeBuckets(ids);
}

/** One form of an entity. */
export interface FormRef {
  entity: Entity;
  form: Form;
}

/** Data that the caller of a change already has. */
export interface Precomputed {
  /** Counts of the drafts' buckets. */
  counts?: ReadonlyMap<string, FileCounts>;
  /** Replaces the stored issues: a change returns all problems of its body. */
  issues?: readonly Issue[];
}

/** A form as one caller sees it. */
export interface RenderedForm extends FormRef {
  content: EntityForm;
  view: View;
  parts: VolatileParts;
  /** The public document, UTF-8. */
  json: Buffer;
}

/**
 * Renders forms of entities that were read with their relations for one caller, in order; at most one call for counts.
 */
export async function renderForms(
  context: LifecycleContext,
  forms: readonly FormRef[],
  principal: Principal,
  precomputed: Precomputed = {},
): Promise<RenderedForm[]> {
  const { kind, vocabularies } = context;
  const contents = forms.flatMap(({ entity, form }) => {
    const content = entity[form];
    return content === null ? [] : [{ entity, form, content }];
  });
  const drafts = contents
    .filter(({ form }) => form === 'draft')
    .map(({ entity, content }) => ({ id: entity.id, document: content.document }));
  const [counts, dois] = await Promise.all([
    precomputed.counts ?? draftCounts(context, drafts),
    doisOf(context, contents),
  ]);
  const now = context.now();
  return contents.map(({ entity, form, content }) => {
    const bucket = counts.get(entity.id) ?? NO_FILES;
    const isDraft = form === 'draft';
    const view = viewOf(principal, entity, content, isDraft, now);
    const fileCountAtPublication = content.document.files.entries ?? 0;
    const rendering = {
      kind,
      form,
      view,
      related: relationsOf(entity)[form],
      fileCount: isDraft ? bucket.entries : fileCountAtPublication,
      issues: isDraft ? (precomputed.issues ?? unresolvedIssues(entity, bucket)) : [],
      dois,
      vocabularies,
      now,
    };
    const parts = volatileParts(entity, content, rendering);
    const json = Buffer.from(JSON.stringify(renderEntity(entity.id, content, parts, rendering)));
    return { entity, form, content, view, parts, json };
  });
}

async function doisOf({ doiStates }: LifecycleContext, forms: readonly FormRef[]): Promise<DoiStates> {
  const published = forms.filter(({ entity }) => entity.published !== null);
  if (published.length === 0) return doiStates && new Map();
  return doiStates?.([...new Set(published.flatMap(({ entity }) => [entity.id, entity.parent.id]))]);
}

/** As `renderForms`, as messages for other services. */
export async function entityDocuments(
  context: LifecycleContext,
  forms: readonly FormRef[],
  principal: Principal,
  precomputed: Precomputed = {},
): Promise<EntityDocument[]> {
  const rendered = await renderForms(context, forms, principal, precomputed);
  const now = context.now();
  return rendered.map(({ entity, form, content, view, parts, json }) => ({
    id: entity.id,
    parentId: entity.parent.id,
    form: FORM_NAMES[form],
    revision: String(content.revision),
    json,
    isPublic: form === 'published' && isSameForAnonymous(view, entity, content, now),
    doi: content.document.pids['doi']?.identifier ?? '',
    variant: variantDigest(parts, baselineOf(context, { entity, form }, content)),
  }));
}

function baselineOf(
  { kind, doiStates }: LifecycleContext,
  { entity, form }: FormRef,
  content: EntityForm,
): VolatileParts {
  const isDraft = form === 'draft';
  return baselineParts(entity, content, {
    kind,
    form,
    fileCount: isDraft ? 0 : (content.document.files.entries ?? 0),
    issues: isDraft ? unresolvedIssues(entity, NO_FILES) : [],
    dois: doiStates && new Map(),
  });
}

/** 96 bits distinguish all variants of one revision. */
function variantDigest(parts: VolatileParts, baseline: VolatileParts): string {
  const text = JSON.stringify(parts);
  if (text === JSON.stringify(baseline)) return '';
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

/** As `entityDocuments`, for one form that exists. */
export async function entityDocument(
  context: LifecycleContext,
  form: FormRef,
  principal: Principal,
  precomputed: Precomputed = {},
): Promise<EntityDocument> {
  const [document] = await entityDocuments(context, [form], principal, precomputed);
  if (document === undefined) throw new Error(`${form.entity.id} has no ${form.form} form`);
  return document;
}

export const FORM_NAMES = { draft: 'FORM_DRAFT', published: 'FORM_PUBLISHED' } as const satisfies Record<
  Form,
  FormName
>;

/** Stored problems that still apply: files are added and removed without saving the draft. */
function unresolvedIssues({ draft }: Entity, counts: FileCounts): Issue[] {
  if (draft === null) return [];
  const current = new Set(filesIssues(draft.document.files, counts).map((one) => JSON.stringify(one)));
  const ofFiles = new Set(issuesOf(draft.issues, 'files'));
  return draft.issues.filter((one) => !ofFiles.has(one) || current.has(JSON.stringify(one)));
}

/** A reader without credentials. */
export const ANONYMOUS = anonymous('');

function isSameForAnonymous(view: View, entity: Entity, content: EntityForm, now: Date): boolean {
  if (!isAllowedOn(ANONYMOUS, 'read', entity, content, now)) return false;
  const { canManage, canEdit, canReadFiles } = viewOf(ANONYMOUS, entity, content, false, now);
  return canManage === view.canManage && canEdit === view.canEdit && canReadFiles === view.canReadFiles;
}

import { createHash } from 'node:crypto';
import { anonymous, type Principal } from '@kr/caller';
import type { EntityDocument, Form as FormName } from '@kr/contracts';
import type { Issue } from '@kr/service-error';
import type { LifecycleContext, LifecycleDeps } from '../context/context.ts';
import { may, viewOf } from '../model/access.ts';
import { plainShapeOf, renderEntity, type Shape, shapeOf, type View } from '../model/document.ts';
import { type Entity, type Face, type Form, relationsOf, type StoredDocument } from '../model/entity.ts';
import { type FileCounts, filesIssues, NO_FILES } from '../model/files.ts';
import { issuesOf } from '../model/issues.ts';
import type { DoiStates } from '../model/pids.ts';

/**
 * File counts of drafts, by id; empty ones may be absent. A draft whose files are disabled has none: files
 * cannot be disabled while there are any, nor added afterwards. So it needs no call.
 */
export async function draftCounts(
  { describeBuckets }: Pick<LifecycleDeps, 'describeBuckets'>,
  drafts: readonly { id: string; document: StoredDocument }[],
): Promise<ReadonlyMap<string, FileCounts>> {
  const ids = drafts.filter(({ document }) => document.files.enabled).map(({ id }) => id);
  return ids.length === 0 ? new Map() : describeBuckets(ids);
}

/** One form of an entity that is to be shown. */
export interface Shown {
  entity: Entity;
  form: Form;
}

/** Data that the caller of a change already has. */
export interface Known {
  /** Counts of the drafts' buckets. */
  counts?: ReadonlyMap<string, FileCounts>;
  /** Replaces the stored issues: a change returns all problems of its body. */
  issues?: readonly Issue[];
}

/** A form as one caller sees it. */
export interface RenderedForm extends Shown {
  face: Face;
  view: View;
  shape: Shape;
  /** The public document, UTF-8. */
  json: Buffer;
}

/**
 * Renders forms of entities that were read with their relations for one caller, in order; at most one call for counts.
 */
export async function renderForms(
  context: LifecycleContext,
  shown: readonly Shown[],
  principal: Principal,
  known: Known = {},
): Promise<RenderedForm[]> {
  const { kind } = context;
  const faces = shown.flatMap(({ entity, form }) => {
    const face = entity[form];
    return face === null ? [] : [{ entity, form, face }];
  });
  const drafts = faces
    .filter(({ form }) => form === 'draft')
    .map(({ entity, face }) => ({ id: entity.id, document: face.document }));
  const [counts, dois] = await Promise.all([
    known.counts ?? draftCounts(context, drafts),
    doisOf(context, faces),
  ]);
  const now = context.now();
  return faces.map(({ entity, form, face }) => {
    const bucket = counts.get(entity.id) ?? NO_FILES;
    const isDraft = form === 'draft';
    const view = viewOf(principal, entity, face, isDraft, now);
    const sealed = face.document.files.entries ?? 0;
    const rendering = {
      kind,
      form,
      view,
      related: relationsOf(entity)[form],
      fileCount: isDraft ? bucket.entries : sealed,
      issues: isDraft ? (known.issues ?? standingIssues(entity, bucket)) : [],
      dois,
      now,
    };
    const shape = shapeOf(entity, face, rendering);
    const json = Buffer.from(JSON.stringify(renderEntity(entity.id, face, shape, rendering)));
    return { entity, form, face, view, shape, json };
  });
}

async function doisOf({ doiStates }: LifecycleContext, shown: readonly Shown[]): Promise<DoiStates> {
  const published = shown.filter(({ entity }) => entity.published !== null);
  if (published.length === 0) return doiStates && new Map();
  return doiStates?.([...new Set(published.flatMap(({ entity }) => [entity.id, entity.parent.id]))]);
}

/** As `renderForms`, with the facts about each form that a caller of this service needs. */
export async function entityDocuments(
  context: LifecycleContext,
  shown: readonly Shown[],
  principal: Principal,
  known: Known = {},
): Promise<EntityDocument[]> {
  const forms = await renderForms(context, shown, principal, known);
  const now = context.now();
  return forms.map(({ entity, form, face, view, shape, json }) => ({
    id: entity.id,
    parentId: entity.parent.id,
    form: FORM_NAMES[form],
    revision: String(face.revision),
    json,
    isPublic: form === 'published' && isWhatAnybodySees(view, entity, face, now),
    doi: face.document.pids['doi']?.identifier ?? '',
    variant: variantOf(shape, plainShape(context, { entity, form }, face)),
  }));
}

function plainShape({ kind, doiStates }: LifecycleContext, { entity, form }: Shown, face: Face): Shape {
  const isDraft = form === 'draft';
  return plainShapeOf(entity, face, {
    kind,
    form,
    fileCount: isDraft ? 0 : (face.document.files.entries ?? 0),
    issues: isDraft ? standingIssues(entity, NO_FILES) : [],
    dois: doiStates && new Map(),
  });
}

/** 96 bits distinguish all shapes of one revision. */
function variantOf(shape: Shape, plain: Shape): string {
  const text = JSON.stringify(shape);
  if (text === JSON.stringify(plain)) return '';
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

/** One form that is known to be there. */
export async function entityDocument(
  context: LifecycleContext,
  shown: Shown,
  principal: Principal,
  known: Known = {},
): Promise<EntityDocument> {
  const [document] = await entityDocuments(context, [shown], principal, known);
  if (document === undefined) throw new Error(`${shown.entity.id} has no ${shown.form} form`);
  return document;
}

export const FORM_NAMES = { draft: 'FORM_DRAFT', published: 'FORM_PUBLISHED' } as const satisfies Record<
  Form,
  FormName
>;

/** Stored problems that still apply: files are added and removed without saving the draft. */
function standingIssues({ draft }: Entity, counts: FileCounts): Issue[] {
  if (draft === null) return [];
  const current = new Set(filesIssues(draft.document.files, counts).map((one) => JSON.stringify(one)));
  const ofFiles = new Set(issuesOf(draft.issues, 'files'));
  return draft.issues.filter((one) => !ofFiles.has(one) || current.has(JSON.stringify(one)));
}

const NOBODY = anonymous('');

function isWhatAnybodySees(view: View, entity: Entity, face: Face, now: Date): boolean {
  if (!may(NOBODY, 'read', entity, face, now)) return false;
  const { canManage, canEdit, canReadFiles } = viewOf(NOBODY, entity, face, false, now);
  return canManage === view.canManage && canEdit === view.canEdit && canReadFiles === view.canReadFiles;
}

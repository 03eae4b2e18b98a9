import { storableText } from '../../index/storable-text.ts';
import { textTokens } from '../../index/text-tokens.ts';
import {
  type EntityForm,
  type EntityKind,
  type IndexedEntity,
  SUGGESTION_TYPES,
  type Tombstone,
} from '../search-engine.ts';
import { type DocumentTerms, documentTerms } from './document-terms.ts';
import { dayNumber, microsOf } from './instants.ts';

/** What a form is and is found by, but for what follows from other documents. */
export interface StoredContent extends DocumentTerms {
  id: string;
  form: EntityForm;
  kind: EntityKind;
  parentId: string;
  managedBy: string | null;
  ownerId: string;
  recordAccess: IndexedEntity['recordAccess'];
  /** Microseconds, as the other instants, in decimal text. */
  embargoUntil: string | null;
  versionIndex: number;
  createdAt: string;
  updatedAt: string;
  revision: string;
  publicationFrom: number | null;
  publicationTo: number | null;
  /** By facet; the inner values of a nested one under `<facet>::`, still as `outer::inner`. */
  facets: Record<string, string[]>;
  boxes: IndexedEntity['boxes'];
  suggestions: { type: string; words: string; value: string }[];
}

/** A form that is gone. */
export interface StoredMark extends Pick<StoredContent, 'id' | 'form' | 'kind' | 'parentId' | 'revision'> {
  /** Milliseconds. */
  buriedAt: number;
}

/** What is derived from the live forms of the same parent, and whether it may be shown. */
export interface StoredFlags {
  isLive: boolean;
  isAnnounced: boolean;
  isLatest: boolean;
  isLatestDraft: boolean;
  hasDraft: boolean;
}

export function documentId({ id, form }: { id: string; form: EntityForm }): string {
  return `${form}:${id}`;
}

export function storedContent(entity: IndexedEntity): StoredContent {
  const { id, form, kind, parentId, managedBy, ownerId, recordAccess, versionIndex, revision, boxes } =
    entity;
  return {
    id,
    form,
    kind,
    parentId,
    managedBy,
    ownerId,
    recordAccess,
    embargoUntil: entity.embargoUntil === null ? null : microsOf(entity.embargoUntil),
    versionIndex,
    createdAt: microsOf(entity.createdAt),
    updatedAt: microsOf(entity.updatedAt),
    revision,
    publicationFrom: entity.publicationFrom === null ? null : dayNumber(entity.publicationFrom),
    publicationTo: entity.publicationTo === null ? null : dayNumber(entity.publicationTo),
    facets: storedFacets(entity.facets),
    boxes: boxes.map(({ west, south, east, north }) => ({ west, south, east, north })),
    suggestions: SUGGESTION_TYPES.flatMap((type) =>
      entity.suggestions[type].map((value) => ({
        type,
        words: textTokens(value).join(' '),
        value: storableText(value),
      })),
    ),
    ...documentTerms(entity.document),
  };
}

export function storedMark({ id, form, kind, parentId, revision }: Tombstone, now: Date): StoredMark {
  return { id, form, kind, parentId, revision, buriedAt: now.getTime() };
}

/** The facet that has values within values. */
export const NESTED_FACET = 'resource_type';

export const innerFacet = (facet: string): string => `${facet}::`;

function storedFacets(facets: IndexedEntity['facets']): Record<string, string[]> {
  const stored: Record<string, string[]> = {};
  for (const [facet, values] of Object.entries(facets)) {
    for (const value of values) {
      const name = isInner(facet, value) ? innerFacet(facet) : facet;
      stored[name] ??= [];
      stored[name].push(storableText(value));
    }
  }
  return stored;
}

/** Whether a value of a facet is one within another: `outer::inner`. */
export function isInner(facet: string, value: string): boolean {
  return facet === NESTED_FACET && value.includes('::');
}

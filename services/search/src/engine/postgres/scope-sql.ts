import type { Scope, Viewer } from '../search-engine.ts';
import type { Parameters } from './parameters.ts';

/** How many kinds of entities there are: where all of them are searched, none has to be looked at. */
const ALL_KINDS = 2;

/**
 * Which live documents a listing is made of, as conditions on the columns of `index_document`, aliased `d`. They hold
 * beside the user's query, so nothing in it can widen them. Where there is one, `isByWords`, rows are to be found by that.
 */
export function scopeConditions(
  { scope, viewer, now, isByWords }: { scope: Scope; viewer: Viewer; now: Date; isByWords: boolean },
  parameters: Parameters,
): string[] {
  const conditions = ['d.deleted_at IS NULL'];
  if (new Set(scope.kinds).size < ALL_KINDS) {
    conditions.push(`d.kind = ANY (${parameters.add([...scope.kinds])}::text[])`);
  }
  if (scope.onlyIds !== null) conditions.push(`d.id = ANY (${parameters.add([...scope.onlyIds])}::text[])`);
  // Only announced published forms are the latest, and large listings feel each condition.
  else if (scope.forms !== 'published' || !scope.latestOnly) conditions.push('d.is_announced');
  switch (scope.forms) {
    case 'published':
      // Said so that no index is read for it: nearly all rows are published.
      conditions.push(scope.latestOnly ? 'd.is_latest' : `d.form <> 'draft'`);
      conditions.push(mayRead(viewer, now, parameters));
      break;
    case 'own': {
      const own = mayReadDraft({ ...viewer, seesAll: false }, parameters);
      // Who has much would else have the terms of all of it looked through.
      conditions.push(`(d.form = 'draft' OR NOT d.has_draft)`, isByWords ? `(${own}) IS TRUE` : own);
      if (scope.latestOnly) conditions.push('d.is_latest_draft');
      break;
    }
    case 'either': {
      const draft = mayReadDraft(viewer, parameters);
      conditions.push(
        `CASE d.form WHEN 'draft' THEN ${draft}` +
          ` ELSE ${mayRead(viewer, now, parameters)} AND NOT (d.has_draft AND coalesce(${draft}, false)) END`,
      );
      if (scope.latestOnly) conditions.push('d.is_latest_draft');
      break;
    }
  }
  return conditions;
}

/** Published forms: what is public, what is one's own, what a link opens. */
function mayRead(viewer: Viewer, now: Date, parameters: Parameters): string {
  if (viewer.seesAll) return 'true';
  const open = [
    `d.record_access = 'public'`,
    `coalesce(d.embargo_until <= ${parameters.add(now.toISOString())}::timestamptz, false)`,
  ];
  return `(${[...open, ...personal(viewer.userId, viewer.viewParentIds, parameters)].join(' OR ')})`;
}

function mayReadDraft(viewer: Viewer, parameters: Parameters): string {
  if (viewer.seesAll) return 'true';
  const conditions = personal(viewer.userId, viewer.previewParentIds, parameters);
  return conditions.length > 0 ? `(${conditions.join(' OR ')})` : 'false';
}

function personal(userId: string | null, parentIds: readonly string[], parameters: Parameters): string[] {
  return [
    ...(userId === null ? [] : [`d.owner_id = ${parameters.add(userId)}`]),
    ...(parentIds.length === 0 ? [] : [openedBy(parameters.add([...parentIds]))]),
  ];
}

/** What links of these parents open: a package's open the resources that it manages. */
function openedBy(parentIds: string): string {
  return `d.parent_id = ANY (${parentIds}::text[]) OR d.managed_by = ANY (${parentIds}::text[])`;
}

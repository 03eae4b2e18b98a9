import type { PublicationSummary__Output, ReadPublicationResponse__Output } from '@kr/contracts';
import { callAsOperator } from '../settings/call-as-operator.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatTimeSpan } from '../terminal/time-span.ts';
import type { AdminOptions } from './context.ts';

const OPEN_STATES = ['PREPARING', 'COMMITTED', 'ABORTED'] as const;
export const STATES = [...OPEN_STATES, 'DONE', 'ABORT_DONE'] as const;

export interface ListOptions extends AdminOptions {
  /** Default: any. */
  state?: string[];
  /** Only unfinished publications. */
  open: boolean;
  /** Milliseconds. */
  olderThan: number;
  limit: number;
}

/** `kr admin publications list`: the publications of a local system, newest first. */
export async function listPublications(terminal: Terminal, options: ListOptions): Promise<void> {
  const { state, open, olderThan: olderThanMs, limit, dataDirs } = options;
  const states = [...(state ?? []), ...(open ? OPEN_STATES : [])];
  const { publications, hasMore } = await callAsOperator('publicationReports', dataDirs, (reports, caller) =>
    reports.listPublications({ states, olderThanMs, limit }, caller),
  );
  if (options.json) {
    const output = { publications: publications.map(summaryJson), has_more: hasMore };
    return terminal.print(JSON.stringify(output, null, 2));
  }
  if (publications.length === 0)
    return terminal.note(nothingFound(states, open && state === undefined, olderThanMs));
  for (const line of table([HEADINGS, ...publications.map(cells)])) terminal.print(line);
  if (hasMore) terminal.note(`More than ${limit} match; --limit shows more.`);
}

/** Unfinished publications, newest first. */
export function listOpenPublications(dataDirs: readonly string[], limit: number) {
  return callAsOperator('publicationReports', dataDirs, (reports, caller) =>
    reports.listPublications({ states: [...OPEN_STATES], olderThanMs: 0, limit }, caller),
  );
}

/** The text for an empty list. */
export function nothingFound(states: readonly string[], isOpenOnly: boolean, olderThanMs: number): string {
  if (isOpenOnly && olderThanMs === 0) return 'No publication is open: all are finished.';
  return states.length === 0 && olderThanMs === 0
    ? 'There are no publications yet.'
    : 'No publication matches.';
}

/** `kr admin publications show ID`: one publication in full. */
export async function showPublication(
  terminal: Terminal,
  id: string,
  { json, dataDirs }: AdminOptions,
): Promise<void> {
  const publication = await callAsOperator('publicationReports', dataDirs, (reports, caller) =>
    reports.readPublication({ id }, caller),
  );
  if (json) return terminal.print(JSON.stringify(publicationJson(publication), null, 2));
  for (const line of lines(publication)) terminal.print(line);
}

const HEADINGS = ['publication', 'of', 'entity', 'state', 'age', 'epoch', 'resources', 'participants', 'by'];

function cells(one: PublicationSummary__Output): string[] {
  return [
    one.id,
    subjectOf(one),
    one.entityId,
    one.state,
    formatTimeSpan(Number(one.ageMs)),
    String(one.epoch),
    String(one.resources),
    participantsOf(one),
    one.requestedBy,
  ];
}

function subjectOf({ subject }: PublicationSummary__Output): string {
  return subject === 'SUBJECT_PACKAGE' ? 'package' : 'record';
}

/** Whether each participant has applied the decision; empty before the decision. */
function participantsOf({ participants, state }: PublicationSummary__Output): string {
  return participants
    .map(({ name, hasApplied }) => {
      if (state === 'PREPARING') return name;
      return `${name} ${hasApplied ? 'applied' : 'waits'}`;
    })
    .join(', ');
}

const MEANING: Record<string, string> = {
  PREPARING: 'not decided; what it publishes is locked',
  COMMITTED: 'published and visible; some services have not applied it yet',
  ABORTED: 'not published; some services have not released their locks yet',
  DONE: 'published; all services have applied it',
  ABORT_DONE: 'not published; nothing is locked',
};

function lines({ summary, refusal, ...rest }: ReadPublicationResponse__Output): string[] {
  if (summary === null) return [];
  const rows: [string, string][] = [
    ['publication', summary.id],
    ['of', `${subjectOf(summary)} ${summary.entityId}`],
    ['parent', rest.packageParentId],
    ['state', `${summary.state}: ${MEANING[summary.state] ?? ''}`],
    ['requested by', summary.requestedBy],
    ['created', `${summary.createdAt} (${formatTimeSpan(Number(summary.ageMs))} ago)`],
    ['deadline', rest.deadline],
    ['epoch', String(summary.epoch)],
    ['lease until', rest.leaseUntil],
    ['decided', rest.decidedAt],
    ['finished', rest.finishedAt],
    ['participants', participantsOf(summary)],
    ['resources', rest.resourceIds.join(' ')],
    ['published', rest.publishedIds.join(' ')],
    ['snapshot', rest.snapshotJson],
    [
      'refused',
      refusal === null ? '' : [refusal.kind, refusal.code, refusal.message].filter(Boolean).join(': '),
    ],
  ];
  const issues = (refusal?.issues ?? []).map(({ record, field, messages }) =>
    ['  ', record, field, messages.join(' ')].filter(Boolean).join(' '),
  );
  return [...table(rows.filter(([, value]) => value !== '')), ...issues];
}

function summaryJson(one: PublicationSummary__Output) {
  return {
    id: one.id,
    subject: subjectOf(one),
    entity_id: one.entityId,
    state: one.state,
    epoch: one.epoch,
    created_at: one.createdAt,
    age_ms: Number(one.ageMs),
    participants: one.participants.map(({ name, hasApplied }) => ({ name, has_applied: hasApplied })),
    requested_by: one.requestedBy,
    resources: one.resources,
  };
}

function publicationJson({ summary, refusal, ...rest }: ReadPublicationResponse__Output) {
  return {
    ...(summary === null ? {} : summaryJson(summary)),
    package_parent_id: rest.packageParentId || null,
    lease_until: rest.leaseUntil || null,
    deadline: rest.deadline || null,
    decided_at: rest.decidedAt || null,
    finished_at: rest.finishedAt || null,
    resource_ids: rest.resourceIds,
    published_ids: rest.publishedIds,
    snapshot: JSON.parse(rest.snapshotJson),
    refusal: refusal === null ? null : { ...refusal, code: refusal.code || null },
  };
}

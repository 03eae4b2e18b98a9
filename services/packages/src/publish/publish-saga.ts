/**
 * One owner's drive of one publication, as a pure state machine: reserve → seal files → prepare records →
 * commit point → notify the participants → done, or abort. No clock, database or RPC in here: instants arrive
 * with the inputs (epoch milliseconds) and `drive-publication.ts` executes the effects.
 *
 * Safety is guaranteed by the row: `commit` and `abort` are compare-and-set on PREPARING and return the
 * resulting row, which this machine always follows.
 */
import type { Issue } from '@kr/service-error';
import { type Participant, type Publication, type Refusal, showsRelated } from './publication.ts';

/** The files of one entity, as counted when its bucket was sealed. */
export interface FileManifest {
  readonly entityId: string;
  readonly entries: number;
  readonly pending: number;
  readonly totalBytes: string;
  readonly keys: readonly string[];
}

export interface PublishLimits {
  /** How long to wait for another publication that holds one of the entities. */
  readonly blockedMs: number;
  /** Milliseconds to retry an unreachable participant. */
  readonly reachMs: number;
  /** Pause before a repeat. */
  readonly retryMs: number;
  /** How much the resources of one publication may be, as JSON in bytes. */
  readonly mostBytes: number;
}

/** The vote of the records service so far; calls are repeated until `leftIds` is empty. */
interface Vote {
  readonly stagedIds: readonly string[];
  readonly issues: readonly Issue[];
  /** Whether it refused, with or without issues. */
  readonly isNo: boolean;
  readonly leftIds: readonly string[];
  readonly bytes: number;
}

/** The part of the vote that the records service gave in one answer. */
export interface VotedPart {
  /** The ids of the call, and those of them without a vote. */
  readonly ids: readonly string[];
  readonly leftIds: readonly string[];
  /** Size of the voted ones as JSON in bytes. */
  readonly bytes: number;
  /** When it arrived. */
  readonly at: number;
}

interface Preparing {
  readonly step: 'preparing';
  readonly publication: Publication;
  readonly limits: PublishLimits;
  /** When it was opened, or the last vote of the records service arrived. */
  readonly since: number;
  readonly manifests: readonly FileManifest[] | null;
  /** Problems of the package itself; null until it was checked. */
  readonly ownIssues: readonly Issue[] | null;
  readonly vote: Vote;
  readonly isRetrying: boolean;
}

type Wish =
  | {
      readonly do: 'commit';
      readonly publishedIds: readonly string[];
      /** All sealed files, as listed in the published forms. */
      readonly manifests: readonly FileManifest[];
    }
  | { readonly do: 'abort'; readonly refusal: Refusal };

export type PublishState =
  | { readonly step: 'new' }
  | Preparing
  | {
      readonly step: 'deciding';
      readonly publication: Publication;
      readonly limits: PublishLimits;
      readonly wish: Wish;
    }
  | {
      readonly step: 'applying';
      readonly publication: Publication;
      readonly applied: readonly Participant[];
      readonly missed: readonly Participant[];
      /** The answer to give when the records service was notified or did not respond; null: already given. */
      readonly answer: PublishAnswer | null;
    }
  /** All participants have applied; only the row is not updated yet. */
  | { readonly step: 'finishing'; readonly publication: Publication }
  /** Nothing left to do for this owner; what is unfinished belongs to the next one. */
  | { readonly step: 'rest'; readonly publication: Publication };

export type PublishInput =
  | {
      readonly type: 'opened';
      readonly publication: Publication;
      readonly limits: PublishLimits;
      readonly at: number;
    }
  | { readonly type: 'sealed'; readonly manifests: readonly FileManifest[] }
  | { readonly type: 'checked'; readonly issues: readonly Issue[] }
  | (VotedPart & { readonly type: 'prepared'; readonly stagedIds: readonly string[] })
  | (VotedPart & { readonly type: 'refused'; readonly issues: readonly Issue[] })
  | { readonly type: 'blocked'; readonly at: number }
  | { readonly type: 'unreachable'; readonly at: number }
  /** A participant or the store refused for a permanent reason. */
  | { readonly type: 'failed'; readonly refusal: Refusal }
  | { readonly type: 'renewed'; readonly publication: Publication }
  /** The row as it is: after the attempt to decide it, or after it was read again. */
  | { readonly type: 'found'; readonly publication: Publication }
  /** The database did not report whether the decision was stored. */
  | { readonly type: 'unsure'; readonly at: number }
  | { readonly type: 'applied'; readonly participant: Participant }
  | { readonly type: 'missed'; readonly participant: Participant }
  | { readonly type: 'finished' };

export type PublishAnswer =
  | { readonly outcome: 'committed' }
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  /** Another owner drives it: read its row. */
  | { readonly outcome: 'elsewhere' }
  /** The row cannot be read; the caller may retry. */
  | { readonly outcome: 'unknown' };

export type PublishEffect =
  | { readonly do: 'seal' }
  | { readonly do: 'check'; readonly manifests: readonly FileManifest[] }
  | {
      readonly do: 'prepare';
      readonly ids: readonly string[];
      readonly manifests: readonly FileManifest[];
    }
  | { readonly do: 'renew'; readonly afterMs: number }
  | Wish
  | { readonly do: 'reread'; readonly afterMs: number }
  | { readonly do: 'answer'; readonly answer: PublishAnswer }
  | { readonly do: 'tell'; readonly participant: Participant }
  | { readonly do: 'finish' }
  | { readonly do: 'postpone'; readonly applied: readonly Participant[] };

export interface Decision {
  readonly state: PublishState;
  readonly effects: readonly PublishEffect[];
}

/** The refusal when the time ran out before every participant voted. */
export const OUT_OF_TIME: Refusal = {
  kind: 'unavailable',
  message: 'The publication could not be completed in time. Please try again.',
  issues: [],
  retryAfterMs: 1000,
};

/** The refusal while another publication locks one of the entities. */
export const DRAFT_LOCKED: Refusal = {
  kind: 'conflict',
  message: 'The draft is being published.',
  issues: [],
  code: 'draft_locked',
  retryAfterMs: 1000,
};

const NOTHING_TO_PUBLISH: Refusal = { kind: 'not_found', message: 'Not found.', issues: [] };

/** Inputs that do not fit the state (repeats, latecomers) leave it unchanged and cause nothing. */
export function decide(state: PublishState, input: PublishInput): Decision {
  switch (state.step) {
    case 'new':
      return input.type === 'opened' ? open(input) : unchanged(state);
    case 'preparing':
      return input.type === 'found'
        ? obey(state.publication, input.publication)
        : whilePreparing(state, input);
    case 'deciding':
      return whileDeciding(state, input);
    case 'applying':
      return whileApplying(state, input);
    case 'finishing':
      return input.type === 'finished' ? rest(state.publication) : unchanged(state);
    case 'rest':
      return unchanged(state);
    default:
      return state satisfies never;
  }
}

function open({ publication, limits, at }: Extract<PublishInput, { type: 'opened' }>): Decision {
  if (publication.state !== 'PREPARING') return obey(publication, publication);
  const state: Preparing = {
    step: 'preparing',
    publication,
    limits,
    since: at,
    manifests: null,
    ownIssues: publication.subject === 'package' ? null : [],
    vote: { stagedIds: [], issues: [], isNo: false, leftIds: publication.resourceIds, bytes: 0 },
    isRetrying: false,
  };
  if (at >= publication.deadline.getTime()) return wish(state, { do: 'abort', refusal: OUT_OF_TIME });
  return { state, effects: [{ do: 'seal' }] };
}

function whilePreparing(state: Preparing, input: PublishInput): Decision {
  switch (input.type) {
    case 'sealed': {
      if (state.manifests !== null) return unchanged(state);
      return ask({ ...state, manifests: input.manifests });
    }
    case 'checked':
      if (state.ownIssues !== null) return unchanged(state);
      return judge({ ...state, ownIssues: input.issues });
    case 'prepared':
      return hear(state, input, { stagedIds: union(state.vote.stagedIds, input.stagedIds) });
    case 'refused':
      return hear(state, input, { issues: [...state.vote.issues, ...input.issues], isNo: true });
    case 'blocked':
      return retry(state, input.at, state.limits.blockedMs, DRAFT_LOCKED);
    case 'unreachable':
      return retry(state, input.at, state.limits.reachMs, OUT_OF_TIME);
    case 'failed':
      return wish(state, { do: 'abort', refusal: input.refusal });
    case 'renewed':
      return ask({ ...state, publication: input.publication, isRetrying: false });
    default:
      return unchanged(state);
  }
}

/** Requests the rest in a separate step, so that no step grows with the total number. */
function hear(
  state: Preparing,
  { ids, leftIds, bytes, at }: VotedPart,
  said: Partial<Pick<Vote, 'stagedIds' | 'issues' | 'isNo'>>,
): Decision {
  // A second answer to a repeated request.
  if (state.vote.leftIds.length === 0 || ids.length !== state.vote.leftIds.length) return unchanged(state);
  const vote = { ...state.vote, ...said, leftIds, bytes: state.vote.bytes + bytes };
  const next = { ...state, vote, since: at };
  if (vote.bytes > state.limits.mostBytes)
    return wish(next, { do: 'abort', refusal: tooLarge(state.limits.mostBytes) });
  if (leftIds.length === 0) return judge(next);
  if (at >= state.publication.deadline.getTime()) return wish(next, { do: 'abort', refusal: OUT_OF_TIME });
  return state.isRetrying
    ? unchanged(next)
    : { state: { ...next, isRetrying: true }, effects: [{ do: 'renew', afterMs: 0 }] };
}

function union(some: readonly string[], others: readonly string[]): readonly string[] {
  return [...new Set([...some, ...others])];
}

/** Sends all missing requests; every request may be sent twice. */
function ask(state: Preparing): Decision {
  const { manifests } = state;
  if (manifests === null) return { state, effects: [{ do: 'seal' }] };
  const effects: PublishEffect[] = [];
  if (state.ownIssues === null) effects.push({ do: 'check', manifests });
  if (state.vote.leftIds.length > 0) effects.push({ do: 'prepare', ids: state.vote.leftIds, manifests });
  return effects.length > 0 ? { state, effects } : judge(state);
}

/** Speaks only when everything is in, so that one answer names every problem of every entity. */
function judge(state: Preparing): Decision {
  const { publication, manifests, ownIssues, vote } = state;
  if (manifests === null || ownIssues === null || vote.leftIds.length > 0) return { state, effects: [] };
  const issues = [...ownIssues, ...vote.issues];
  if (issues.length > 0) return wish(state, { do: 'abort', refusal: notPublishable(publication, issues) });
  // A no without a reason: the records service applied an abort before the prepare arrived.
  if (vote.isNo) return wish(state, { do: 'abort', refusal: OUT_OF_TIME });
  if (publication.subject === 'package') {
    return wish(state, { do: 'commit', publishedIds: [publication.entityId, ...vote.stagedIds], manifests });
  }
  return vote.stagedIds.length > 0
    ? wish(state, { do: 'commit', publishedIds: vote.stagedIds, manifests })
    : wish(state, { do: 'abort', refusal: NOTHING_TO_PUBLISH });
}

/** A resource published alone is the only one spoken of, so its issues need not name it. */
function notPublishable(publication: Publication, issues: readonly Issue[]): Refusal {
  return {
    kind: 'not_publishable',
    message: 'A validation error occurred.',
    issues:
      publication.subject === 'record' ? issues.map(({ field, messages }) => ({ field, messages })) : issues,
  };
}

function tooLarge(mostBytes: number): Refusal {
  const message = `The resources that are published together may have ${mostBytes} bytes of metadata, and these have more.`;
  return {
    kind: 'too_large',
    message: 'A validation error occurred.',
    issues: [{ field: 'relationship.resources', messages: [message] }],
    code: 'publication_too_large',
  };
}

function retry(state: Preparing, at: number, patienceMs: number, refusal: Refusal): Decision {
  if (state.isRetrying) return unchanged(state);
  const giveUpAt = Math.min(state.since + patienceMs, state.publication.deadline.getTime());
  if (at >= giveUpAt) return wish(state, { do: 'abort', refusal });
  return { state: { ...state, isRetrying: true }, effects: [{ do: 'renew', afterMs: state.limits.retryMs }] };
}

function wish({ publication, limits }: Preparing, wished: Wish): Decision {
  return { state: { step: 'deciding', publication, limits, wish: wished }, effects: [wished] };
}

function whileDeciding(state: Extract<PublishState, { step: 'deciding' }>, input: PublishInput): Decision {
  const { publication } = state;
  if (input.type === 'found') {
    const isStillOpen =
      input.publication.state === 'PREPARING' && input.publication.epoch === publication.epoch;
    return isStillOpen ? { state, effects: [state.wish] } : obey(publication, input.publication);
  }
  if (input.type === 'renewed') {
    return { state: { ...state, publication: input.publication }, effects: [state.wish] };
  }
  if (input.type === 'failed' && state.wish.do === 'commit') {
    const abort: Wish = { do: 'abort', refusal: input.refusal };
    return { state: { ...state, wish: abort }, effects: [abort] };
  }
  if (input.type === 'unsure') {
    if (input.at >= publication.leaseUntil.getTime()) return leave(publication, { outcome: 'unknown' });
    return { state, effects: [{ do: 'reread', afterMs: state.limits.retryMs }] };
  }
  return unchanged(state);
}

/** The row decides, regardless of this owner's intention. */
function obey(mine: Publication, row: Publication): Decision {
  switch (row.state) {
    case 'PREPARING':
      return row.epoch === mine.epoch ? unchangedRow(mine) : leave(row, { outcome: 'elsewhere' });
    case 'COMMITTED':
      return apply(row, { outcome: 'committed' });
    case 'ABORTED':
      return apply(row, { outcome: 'refused', refusal: row.refusal ?? OUT_OF_TIME });
    case 'DONE':
      return leave(row, { outcome: 'committed' });
    case 'ABORT_DONE':
      return leave(row, { outcome: 'refused', refusal: row.refusal ?? OUT_OF_TIME });
    default:
      return row.state satisfies never;
  }
}

/** Renewing failed although no other process took over: the scanner continues when the lease has expired. */
function unchangedRow(publication: Publication): Decision {
  return leave(publication, { outcome: 'elsewhere' });
}

function leave(publication: Publication, answer: PublishAnswer): Decision {
  return { state: { step: 'rest', publication }, effects: [{ do: 'answer', answer }] };
}

function rest(publication: Publication): Decision {
  return { state: { step: 'rest', publication }, effects: [] };
}

function apply(publication: Publication, answer: PublishAnswer): Decision {
  const { participants, applied } = publication;
  const waiting = participants.filter((participant) => !applied.includes(participant));
  const reply: PublishEffect = { do: 'answer', answer };
  if (waiting.length === 0) {
    return { state: { step: 'finishing', publication }, effects: [reply, { do: 'finish' }] };
  }
  const tells = waiting.map((participant): PublishEffect => ({ do: 'tell', participant }));
  const isHeldBack = showsRelated(publication) && waiting.includes('records');
  return {
    state: {
      step: 'applying',
      publication,
      applied,
      missed: [],
      answer: isHeldBack ? answer : null,
    },
    effects: isHeldBack ? tells : [reply, ...tells],
  };
}

function whileApplying(state: Extract<PublishState, { step: 'applying' }>, input: PublishInput): Decision {
  if (input.type !== 'applied' && input.type !== 'missed') return unchanged(state);
  const { publication } = state;
  const { participant } = input;
  const isKnown = state.applied.includes(participant) || state.missed.includes(participant);
  if (isKnown || !publication.participants.includes(participant)) return unchanged(state);

  const list = input.type === 'applied' ? 'applied' : 'missed';
  const answer = participant === 'records' ? null : state.answer;
  const next = { ...state, [list]: [...state[list], participant], answer };
  const replies: PublishEffect[] =
    state.answer !== null && answer === null ? [{ do: 'answer', answer: state.answer }] : [];
  if (next.applied.length + next.missed.length < publication.participants.length)
    return { state: next, effects: replies };
  return next.missed.length === 0
    ? { state: { step: 'finishing', publication }, effects: [...replies, { do: 'finish' }] }
    : {
        state: { step: 'rest', publication },
        effects: [...replies, { do: 'postpone', applied: next.applied }],
      };
}

function unchanged(state: PublishState): Decision {
  return { state, effects: [] };
}

/**
 * One owner's run of one publication, as a pure state machine: begin → seal files → prepare records →
 * commit point → notify the participants → done, or abort. No clock, database or RPC in here: instants arrive
 * with the inputs (epoch milliseconds) and `run-publication.ts` executes the effects.
 *
 * Safety is guaranteed by the row: `commit` and `abort` are compare-and-set on PREPARING and return the
 * resulting row, which this machine always follows.
 */
import type { Issue } from '@kr/service-error';
import { type ParticipantName, type Publication, type Refusal, showsRelated } from './publication.ts';

/** The files of one entity, as counted when its bucket was sealed. */
export interface FileManifest {
  readonly entityId: string;
  readonly entries: number;
  readonly pending: number;
  readonly totalBytes: string;
  readonly keys: string[];
}

export interface PublishLimits {
  /** Milliseconds to wait for another publication that has locked one of the entities. */
  readonly blockedMs: number;
  /** Milliseconds to retry an unreachable participant. */
  readonly reachMs: number;
  /** Milliseconds before a retry. */
  readonly retryMs: number;
  /** Maximum JSON bytes of the resources of one publication. */
  readonly maxBytes: number;
}

/** The vote of the records service so far; calls are repeated until `remainingIds` is empty. */
interface Vote {
  readonly stagedIds: readonly string[];
  readonly issues: readonly Issue[];
  /** A refusal may have no issues. */
  readonly isRefused: boolean;
  readonly remainingIds: readonly string[];
  readonly bytes: number;
}

/** The part of the vote that the records service gave in one answer. */
export interface VotedPart {
  /** The ids of the call, and those of them without a vote. */
  readonly ids: readonly string[];
  readonly remainingIds: readonly string[];
  /** Size of the voted ones as JSON in bytes. */
  readonly bytes: number;
  /** When it arrived. */
  readonly at: number;
}

interface Preparing {
  readonly step: 'preparing';
  readonly publication: Publication;
  readonly limits: PublishLimits;
  /** When it began, or the last vote of the records service arrived. */
  readonly since: number;
  readonly manifests: readonly FileManifest[] | null;
  /** Problems of the package itself; null until it was checked. */
  readonly ownIssues: readonly Issue[] | null;
  readonly vote: Vote;
  /** Whether the effect `renewThenContinue` is running. */
  readonly isRenewing: boolean;
}

type Intent =
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
      readonly intent: Intent;
    }
  | {
      readonly step: 'applying';
      readonly publication: Publication;
      readonly applied: readonly ParticipantName[];
      readonly undelivered: readonly ParticipantName[];
      /** The answer once the records service was notified or did not respond; null: answered already. */
      readonly answer: PublishResult | null;
    }
  /** All participants have applied; only the row is not updated yet. */
  | { readonly step: 'finishing'; readonly publication: Publication }
  /** This owner has finished; the next owner does the remaining work. */
  | { readonly step: 'ended'; readonly publication: Publication };

export type PublishInput =
  | {
      readonly type: 'begun';
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
  | { readonly type: 'rowRead'; readonly publication: Publication }
  /** The database did not report whether the decision was stored. */
  | { readonly type: 'outcomeUnknown'; readonly at: number }
  | { readonly type: 'applied'; readonly participant: ParticipantName }
  | { readonly type: 'undelivered'; readonly participant: ParticipantName }
  | { readonly type: 'finished' };

export type PublishResult =
  | { readonly outcome: 'committed' }
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  /** Another owner runs it: read its row. */
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
  /** Renews the lease after a pause, then sends all missing requests: a retry, or the next part. */
  | { readonly do: 'renewThenContinue'; readonly afterMs: number }
  | Intent
  | { readonly do: 'reread'; readonly afterMs: number }
  | { readonly do: 'answer'; readonly answer: PublishResult }
  | { readonly do: 'notify'; readonly participant: ParticipantName }
  | { readonly do: 'finish' }
  | { readonly do: 'postpone'; readonly applied: readonly ParticipantName[] };

export interface Transition {
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
export function transition(state: PublishState, input: PublishInput): Transition {
  switch (state.step) {
    case 'new':
      return input.type === 'begun' ? begin(input) : unchanged(state);
    case 'preparing':
      return input.type === 'rowRead' ? followRow(input.publication) : whilePreparing(state, input);
    case 'deciding':
      return whileDeciding(state, input);
    case 'applying':
      return whileApplying(state, input);
    case 'finishing':
      return input.type === 'finished' ? ended(state.publication) : unchanged(state);
    case 'ended':
      return unchanged(state);
    default:
      return state satisfies never;
  }
}

function begin({ publication, limits, at }: Extract<PublishInput, { type: 'begun' }>): Transition {
  if (publication.state !== 'PREPARING') return followRow(publication);
  const state: Preparing = {
    step: 'preparing',
    publication,
    limits,
    since: at,
    manifests: null,
    ownIssues: publication.subject === 'package' ? null : [],
    vote: { stagedIds: [], issues: [], isRefused: false, remainingIds: publication.resourceIds, bytes: 0 },
    isRenewing: false,
  };
  if (at >= publication.deadline.getTime()) return intend(state, { do: 'abort', refusal: OUT_OF_TIME });
  return { state, effects: [{ do: 'seal' }] };
}

function whilePreparing(state: Preparing, input: PublishInput): Transition {
  switch (input.type) {
    case 'sealed': {
      if (state.manifests !== null) return unchanged(state);
      return sendMissingRequests({ ...state, manifests: input.manifests });
    }
    case 'checked':
      if (state.ownIssues !== null) return unchanged(state);
      return conclude({ ...state, ownIssues: input.issues });
    case 'prepared':
      return recordVote(state, input, { stagedIds: union(state.vote.stagedIds, input.stagedIds) });
    case 'refused':
      return recordVote(state, input, { issues: [...state.vote.issues, ...input.issues], isRefused: true });
    case 'blocked':
      return retry(state, input.at, state.limits.blockedMs, DRAFT_LOCKED);
    case 'unreachable':
      return retry(state, input.at, state.limits.reachMs, OUT_OF_TIME);
    case 'failed':
      return intend(state, { do: 'abort', refusal: input.refusal });
    case 'renewed':
      return sendMissingRequests({ ...state, publication: input.publication, isRenewing: false });
    default:
      return unchanged(state);
  }
}

/** Requests the rest in a separate step, so that no step grows with the total number. */
function recordVote(
  state: Preparing,
  { ids, remainingIds, bytes, at }: VotedPart,
  change: Partial<Pick<Vote, 'stagedIds' | 'issues' | 'isRefused'>>,
): Transition {
  // A second answer to a repeated request.
  if (state.vote.remainingIds.length === 0 || ids.length !== state.vote.remainingIds.length)
    return unchanged(state);
  const vote = { ...state.vote, ...change, remainingIds, bytes: state.vote.bytes + bytes };
  const next = { ...state, vote, since: at };
  if (vote.bytes > state.limits.maxBytes)
    return intend(next, { do: 'abort', refusal: tooLarge(state.limits.maxBytes) });
  if (remainingIds.length === 0) return conclude(next);
  if (at >= state.publication.deadline.getTime()) return intend(next, { do: 'abort', refusal: OUT_OF_TIME });
  return state.isRenewing
    ? unchanged(next)
    : { state: { ...next, isRenewing: true }, effects: [{ do: 'renewThenContinue', afterMs: 0 }] };
}

function union(some: readonly string[], others: readonly string[]): readonly string[] {
  return [...new Set([...some, ...others])];
}

/** Sends all missing requests; every request may be sent twice. */
function sendMissingRequests(state: Preparing): Transition {
  const { manifests } = state;
  if (manifests === null) return { state, effects: [{ do: 'seal' }] };
  const effects: PublishEffect[] = [];
  if (state.ownIssues === null) effects.push({ do: 'check', manifests });
  if (state.vote.remainingIds.length > 0)
    effects.push({ do: 'prepare', ids: state.vote.remainingIds, manifests });
  return effects.length > 0 ? { state, effects } : conclude(state);
}

/** Decides when all replies have arrived, so that one answer names every problem of every entity. */
function conclude(state: Preparing): Transition {
  const { publication, manifests, ownIssues, vote } = state;
  if (manifests === null || ownIssues === null || vote.remainingIds.length > 0) return { state, effects: [] };
  const issues = [...ownIssues, ...vote.issues];
  if (issues.length > 0) return intend(state, { do: 'abort', refusal: notPublishable(publication, issues) });
  // A no without a reason: the records service applied an abort before the prepare arrived.
  if (vote.isRefused) return intend(state, { do: 'abort', refusal: OUT_OF_TIME });
  if (publication.subject === 'package') {
    return intend(state, {
      do: 'commit',
      publishedIds: [publication.entityId, ...vote.stagedIds],
      manifests,
    });
  }
  return vote.stagedIds.length > 0
    ? intend(state, { do: 'commit', publishedIds: vote.stagedIds, manifests })
    : intend(state, { do: 'abort', refusal: NOTHING_TO_PUBLISH });
}

/** Issues of a single resource need no id. */
function notPublishable(publication: Publication, issues: readonly Issue[]): Refusal {
  return {
    kind: 'not_publishable',
    message: 'A validation error occurred.',
    issues:
      publication.subject === 'record' ? issues.map(({ field, messages }) => ({ field, messages })) : issues,
  };
}

function tooLarge(maxBytes: number): Refusal {
  const message = `The resources that are published together may have ${maxBytes} bytes of metadata, and these have more.`;
  return {
    kind: 'too_large',
    message: 'A validation error occurred.',
    issues: [{ field: 'relationship.resources', messages: [message] }],
    code: 'publication_too_large',
  };
}

function retry(state: Preparing, at: number, patienceMs: number, refusal: Refusal): Transition {
  if (state.isRenewing) return unchanged(state);
  const giveUpAt = Math.min(state.since + patienceMs, state.publication.deadline.getTime());
  if (at >= giveUpAt) return intend(state, { do: 'abort', refusal });
  return {
    state: { ...state, isRenewing: true },
    effects: [{ do: 'renewThenContinue', afterMs: state.limits.retryMs }],
  };
}

function intend({ publication, limits }: Preparing, intent: Intent): Transition {
  return { state: { step: 'deciding', publication, limits, intent }, effects: [intent] };
}

function whileDeciding(state: Extract<PublishState, { step: 'deciding' }>, input: PublishInput): Transition {
  const { publication } = state;
  if (input.type === 'rowRead') {
    const isStillOpen =
      input.publication.state === 'PREPARING' && input.publication.epoch === publication.epoch;
    return isStillOpen ? { state, effects: [state.intent] } : followRow(input.publication);
  }
  if (input.type === 'renewed') {
    return { state: { ...state, publication: input.publication }, effects: [state.intent] };
  }
  if (input.type === 'failed' && state.intent.do === 'commit') {
    const abort: Intent = { do: 'abort', refusal: input.refusal };
    return { state: { ...state, intent: abort }, effects: [abort] };
  }
  if (input.type === 'outcomeUnknown') {
    if (input.at >= publication.leaseUntil.getTime()) return endWith(publication, { outcome: 'unknown' });
    return { state, effects: [{ do: 'reread', afterMs: state.limits.retryMs }] };
  }
  return unchanged(state);
}

/** The row decides, regardless of this owner's intention. */
function followRow(row: Publication): Transition {
  switch (row.state) {
    case 'PREPARING':
      // Another owner has it, or renewing failed; the scanner continues after the lease.
      return endWith(row, { outcome: 'elsewhere' });
    case 'COMMITTED':
      return apply(row, { outcome: 'committed' });
    case 'ABORTED':
      return apply(row, { outcome: 'refused', refusal: row.refusal ?? OUT_OF_TIME });
    case 'DONE':
      return endWith(row, { outcome: 'committed' });
    case 'ABORT_DONE':
      return endWith(row, { outcome: 'refused', refusal: row.refusal ?? OUT_OF_TIME });
    default:
      return row.state satisfies never;
  }
}

function endWith(publication: Publication, answer: PublishResult): Transition {
  return { state: { step: 'ended', publication }, effects: [{ do: 'answer', answer }] };
}

function ended(publication: Publication): Transition {
  return { state: { step: 'ended', publication }, effects: [] };
}

function apply(publication: Publication, answer: PublishResult): Transition {
  const { participants, applied } = publication;
  const waiting = participants.filter((participant) => !applied.includes(participant));
  const answerNow: PublishEffect = { do: 'answer', answer };
  if (waiting.length === 0) {
    return { state: { step: 'finishing', publication }, effects: [answerNow, { do: 'finish' }] };
  }
  const notifications = waiting.map((participant): PublishEffect => ({ do: 'notify', participant }));
  const waitsForRecords = showsRelated(publication) && waiting.includes('records');
  return {
    state: {
      step: 'applying',
      publication,
      applied,
      undelivered: [],
      answer: waitsForRecords ? answer : null,
    },
    effects: waitsForRecords ? notifications : [answerNow, ...notifications],
  };
}

function whileApplying(state: Extract<PublishState, { step: 'applying' }>, input: PublishInput): Transition {
  if (input.type !== 'applied' && input.type !== 'undelivered') return unchanged(state);
  const { publication } = state;
  const { participant } = input;
  const isKnown = state.applied.includes(participant) || state.undelivered.includes(participant);
  if (isKnown || !publication.participants.includes(participant)) return unchanged(state);

  const list = input.type === 'applied' ? 'applied' : 'undelivered';
  const answer = participant === 'records' ? null : state.answer;
  const next = { ...state, [list]: [...state[list], participant], answer };
  const replies: PublishEffect[] =
    state.answer !== null && answer === null ? [{ do: 'answer', answer: state.answer }] : [];
  if (next.applied.length + next.undelivered.length < publication.participants.length)
    return { state: next, effects: replies };
  return next.undelivered.length === 0
    ? { state: { step: 'finishing', publication }, effects: [...replies, { do: 'finish' }] }
    : {
        state: { step: 'ended', publication },
        effects: [...replies, { do: 'postpone', applied: next.applied }],
      };
}

function unchanged(state: PublishState): Transition {
  return { state, effects: [] };
}

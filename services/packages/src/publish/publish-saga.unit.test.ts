import { describe, expect, test } from '@jest/globals';
import type { Issue } from '@kr/service-error';
import type { Publication } from './publication.ts';
import {
  DRAFT_LOCKED,
  type FileManifest,
  OUT_OF_TIME,
  type PublishEffect,
  type PublishInput,
  type PublishState,
  type Transition,
  transition,
} from './publish-saga.ts';

const limits = { blockedMs: 1000, reachMs: 5000, retryMs: 50, maxBytes: 1_000 };
const aPackage: Publication = {
  id: 'x',
  subject: 'package',
  entityId: 'p',
  packageParentId: 'pp',
  state: 'PREPARING',
  epoch: 1,
  createdAt: new Date(0),
  leaseUntil: new Date(10_000),
  deadline: new Date(30_000),
  resourceIds: ['r1', 'r2'],
  publishedIds: [],
  participants: ['files', 'records'],
  applied: [],
  decidedAt: null,
  refusal: null,
  requestedBy: 'user:1',
  actor: null,
  ifRevision: null,
};
const alone: Publication = {
  ...aPackage,
  subject: 'record',
  entityId: 'r1',
  packageParentId: null,
  resourceIds: ['r1'],
};
const emptyPackage: Publication = { ...aPackage, resourceIds: [], participants: ['files'] };

const manifests: FileManifest[] = [{ entityId: 'p', entries: 0, pending: 0, totalBytes: '0', keys: [] }];
const issue: Issue = { field: 'metadata.title', messages: ['Missing data for required field.'] };
const own: Issue = { field: 'metadata.publication_date', messages: ['Missing data for required field.'] };

const begun = (publication = aPackage, at = 0): PublishInput => ({
  type: 'begun',
  publication,
  limits,
  at,
});
const sealed: PublishInput = { type: 'sealed', manifests };
const checked = (...issues: Issue[]): PublishInput => ({ type: 'checked', issues });
const both = { ids: ['r1', 'r2'], remainingIds: [], bytes: 0, at: 0 };
const prepared = (...stagedIds: string[]): PublishInput => ({ type: 'prepared', stagedIds, ...both });
const refused = (...issues: Issue[]): PublishInput => ({ type: 'refused', issues, ...both });
/** Of `r1` alone, `r2` being too much beside it. */
const first = { ids: ['r1', 'r2'], remainingIds: ['r2'], bytes: 600, at: 4_000 };
/** Of the other one. */
const rest = { ids: ['r2'], remainingIds: [], bytes: 300, at: 8_000 };
const aloneSays = (
  change: { type: 'prepared'; stagedIds: string[] } | { type: 'refused'; issues: Issue[] },
): PublishInput => ({ ...both, ids: ['r1'], ...change });
const blocked = (at: number): PublishInput => ({ type: 'blocked', at });
const unreachable = (at: number): PublishInput => ({ type: 'unreachable', at });
const renewed: PublishInput = { type: 'renewed', publication: { ...aPackage, epoch: 2 } };
const found = (change: Partial<Publication>, of = aPackage): PublishInput => ({
  type: 'rowRead',
  publication: { ...of, ...change },
});
const applied = (participant: 'files' | 'records'): PublishInput => ({ type: 'applied', participant });
const undelivered = (participant: 'files' | 'records'): PublishInput => ({
  type: 'undelivered',
  participant,
});
const committed = { state: 'COMMITTED', publishedIds: ['p', 'r1', 'r2'] } as const;
/** `r2` is published already and only related: it is shown by the package and was not staged for it. */
const withRelated = { state: 'COMMITTED', publishedIds: ['p', 'r1'] } as const;
const aborted = { state: 'ABORTED', refusal: OUT_OF_TIME } as const;

const seal: PublishEffect = { do: 'seal' };
const check: PublishEffect = { do: 'check', manifests };
const prepare: PublishEffect = { do: 'prepare', ids: ['r1', 'r2'], manifests };
const prepareRest: PublishEffect = { do: 'prepare', ids: ['r2'], manifests };
const goOn: PublishEffect = { do: 'renewThenContinue', afterMs: 0 };
const commit = (...publishedIds: string[]): PublishEffect => ({ do: 'commit', publishedIds, manifests });
const abort = (refusal = OUT_OF_TIME): PublishEffect => ({ do: 'abort', refusal });
const invalid = (...issues: Issue[]): PublishEffect =>
  abort({ kind: 'not_publishable', message: 'A validation error occurred.', issues });
const renew: PublishEffect = { do: 'renewThenContinue', afterMs: 50 };
const reread: PublishEffect = { do: 'reread', afterMs: 50 };
const tell = (participant: 'files' | 'records'): PublishEffect => ({ do: 'notify', participant });
const finish: PublishEffect = { do: 'finish' };
const yes: PublishEffect = { do: 'answer', answer: { outcome: 'committed' } };
const no: PublishEffect = { do: 'answer', answer: { outcome: 'refused', refusal: OUT_OF_TIME } };
const elsewhere: PublishEffect = { do: 'answer', answer: { outcome: 'elsewhere' } };

const votedYes = [begun(), sealed, checked(), prepared('r1', 'r2')];

describe('publish saga', () => {
  test.each<{ name: string; given: PublishInput[]; step: PublishState['step']; effects: PublishEffect[] }>([
    { name: 'seals the files first', given: [begun()], step: 'preparing', effects: [seal] },
    {
      name: 'calls the package and the records concurrently when the files are sealed',
      given: [begun(), sealed],
      step: 'preparing',
      effects: [check, prepare],
    },
    {
      name: 'calls once for repeated confirmations of the seal',
      given: [begun(), sealed, sealed],
      step: 'preparing',
      effects: [],
    },
    { name: 'waits for the vote', given: [begun(), sealed, checked()], step: 'preparing', effects: [] },
    {
      name: 'waits for the check',
      given: [begun(), sealed, prepared('r1')],
      step: 'preparing',
      effects: [],
    },
    {
      name: 'commits when all agree',
      given: votedYes,
      step: 'deciding',
      effects: [commit('p', 'r1', 'r2')],
    },
    {
      name: 'publishes only what was staged',
      given: [begun(), sealed, prepared('r2'), checked()],
      step: 'deciding',
      effects: [commit('p', 'r2')],
    },
    {
      name: 'ignores a second, contradicting vote',
      given: [begun(), sealed, refused(issue), prepared('r1', 'r2'), checked()],
      step: 'deciding',
      effects: [invalid(issue)],
    },
    {
      name: 'names the problems of the package before those of its resources',
      given: [begun(), sealed, refused({ ...issue, record: 'r1' }), checked(own)],
      step: 'deciding',
      effects: [invalid(own, { ...issue, record: 'r1' })],
    },
    {
      name: 'never takes a no without a reason for a yes',
      given: [begun(), sealed, checked(), refused()],
      step: 'deciding',
      effects: [abort()],
    },
    {
      name: 'aborts for the package alone although the records agreed',
      given: [begun(), sealed, prepared('r1', 'r2'), checked(own)],
      step: 'deciding',
      effects: [invalid(own)],
    },
    {
      name: 'does not call records for a package without resource drafts',
      given: [begun(emptyPackage), sealed],
      step: 'preparing',
      effects: [check],
    },
    {
      name: 'commits a package without resources',
      given: [begun(emptyPackage), sealed, checked()],
      step: 'deciding',
      effects: [commit('p')],
    },
    {
      name: 'checks no package for a resource alone',
      given: [begun(alone), sealed],
      step: 'preparing',
      effects: [{ ...prepare, ids: ['r1'] }],
    },
    {
      name: 'commits a resource alone',
      given: [begun(alone), sealed, aloneSays({ type: 'prepared', stagedIds: ['r1'] })],
      step: 'deciding',
      effects: [commit('r1')],
    },
    {
      name: 'does not name a resource that is published alone',
      given: [begun(alone), sealed, aloneSays({ type: 'refused', issues: [{ ...issue, record: 'r1' }] })],
      step: 'deciding',
      effects: [invalid(issue)],
    },
    {
      name: 'refuses a resource whose draft is gone',
      given: [begun(alone), sealed, aloneSays({ type: 'prepared', stagedIds: [] })],
      step: 'deciding',
      effects: [abort({ kind: 'not_found', message: 'Not found.', issues: [] })],
    },
    {
      name: 'renews its lease between two parts of the vote',
      given: [begun(), sealed, checked(), { type: 'prepared', stagedIds: ['r1'], ...first }],
      step: 'preparing',
      effects: [goOn],
    },
    {
      name: 'requests the part that is left',
      given: [begun(), sealed, checked(), { type: 'prepared', stagedIds: ['r1'], ...first }, renewed],
      step: 'preparing',
      effects: [prepareRest],
    },
    {
      name: 'does not commit on a part of the vote',
      given: [begun(), sealed, { type: 'prepared', stagedIds: ['r1'], ...first }, checked()],
      step: 'preparing',
      effects: [],
    },
    {
      name: 'commits what all parts have staged',
      given: [
        ...[begun(), sealed, checked(), { type: 'prepared', stagedIds: ['r1'], ...first } as const, renewed],
        { type: 'prepared', stagedIds: ['r1', 'r2'], ...rest },
      ],
      step: 'deciding',
      effects: [commit('p', 'r1', 'r2')],
    },
    {
      name: 'waits for the other parts before it returns the problems of one',
      given: [
        ...[begun(), sealed, checked(), { type: 'refused', issues: [issue], ...first } as const, renewed],
        { type: 'prepared', stagedIds: ['r2'], ...rest },
      ],
      step: 'deciding',
      effects: [invalid(issue)],
    },
    {
      name: 'counts a part once',
      given: [
        ...[begun(), sealed, checked(), { type: 'prepared', stagedIds: ['r1'], ...first } as const],
        { type: 'prepared', stagedIds: ['r1'], ...first },
      ],
      step: 'preparing',
      effects: [],
    },
    {
      name: 'is as patient with the next part as with the first',
      given: [
        ...[begun(), sealed, checked(), { type: 'prepared', stagedIds: ['r1'], ...first } as const, renewed],
        unreachable(8_999),
      ],
      step: 'preparing',
      effects: [renew],
    },
    {
      name: 'requests no more parts past its deadline',
      given: [begun(), sealed, checked(), { type: 'prepared', stagedIds: ['r1'], ...first, at: 30_000 }],
      step: 'deciding',
      effects: [abort()],
    },
    {
      name: 'refuses resources that are too large together',
      given: [
        ...[begun(), sealed, checked(), { type: 'prepared', stagedIds: ['r1'], ...first } as const, renewed],
        { type: 'prepared', stagedIds: ['r1', 'r2'], ...rest, bytes: 401 },
      ],
      step: 'deciding',
      effects: [
        abort({
          kind: 'too_large',
          message: 'A validation error occurred.',
          issues: [
            {
              field: 'relationship.resources',
              messages: [
                'The resources that are published together may have 1000 bytes of metadata, and these have more.',
              ],
            },
          ],
          code: 'publication_too_large',
        }),
      ],
    },
    {
      name: 'waits while another publication holds a file',
      given: [begun(), blocked(10)],
      step: 'preparing',
      effects: [renew],
    },
    {
      name: 'waits once for two that are blocked',
      given: [begun(), blocked(10), blocked(20)],
      step: 'preparing',
      effects: [],
    },
    {
      name: 'seals again after the wait',
      given: [begun(), blocked(10), renewed],
      step: 'preparing',
      effects: [seal],
    },
    {
      name: 'repeats only missing requests',
      given: [begun(), sealed, checked(), blocked(10), renewed],
      step: 'preparing',
      effects: [prepare],
    },
    {
      name: 'stops waiting for a lock after a second',
      given: [begun(), blocked(1000)],
      step: 'deciding',
      effects: [abort(DRAFT_LOCKED)],
    },
    {
      name: 'retries while no participant answers',
      given: [begun(), unreachable(4999)],
      step: 'preparing',
      effects: [renew],
    },
    {
      name: 'aborts when no participant can be reached',
      given: [begun(), unreachable(5000)],
      step: 'deciding',
      effects: [abort()],
    },
    {
      name: 'aborts at the deadline even if retries are left',
      given: [begun(aPackage, 28_000), blocked(30_000)],
      step: 'deciding',
      effects: [abort(DRAFT_LOCKED)],
    },
    {
      name: 'aborts what is found past its deadline',
      given: [begun(aPackage, 30_000)],
      step: 'deciding',
      effects: [abort()],
    },
    {
      name: 'aborts when a participant refuses permanently',
      given: [begun(), sealed, { type: 'failed', refusal: DRAFT_LOCKED }],
      step: 'deciding',
      effects: [abort(DRAFT_LOCKED)],
    },
    {
      name: 'leaves it to a new owner when renewing',
      given: [begun(), blocked(1), found({ epoch: 2 })],
      step: 'ended',
      effects: [elsewhere],
    },
    {
      name: 'obeys an abort while preparing',
      given: [begun(), sealed, found(aborted)],
      step: 'applying',
      effects: [no, tell('files'), tell('records')],
    },
    {
      name: 'answers at the commit point and notifies all participants',
      given: [...votedYes, found(committed)],
      step: 'applying',
      effects: [yes, tell('files'), tell('records')],
    },
    {
      name: 'answers for a package with related resources when the records service was notified',
      given: [...votedYes, found(withRelated)],
      step: 'applying',
      effects: [tell('files'), tell('records')],
    },
    {
      name: 'does not wait for the files with that answer',
      given: [...votedYes, found(withRelated), applied('records')],
      step: 'applying',
      effects: [yes],
    },
    {
      name: 'gives that answer before it finishes',
      given: [...votedYes, found(withRelated), applied('files'), applied('records')],
      step: 'finishing',
      effects: [yes, finish],
    },
    {
      name: 'gives that answer also when the records service did not respond',
      given: [...votedYes, found(withRelated), applied('files'), undelivered('records')],
      step: 'ended',
      effects: [yes, { do: 'postpone', applied: ['files'] }],
    },
    {
      name: 'gives that answer once',
      given: [...votedYes, found(withRelated), undelivered('records'), applied('files')],
      step: 'ended',
      effects: [{ do: 'postpone', applied: ['files'] }],
    },
    {
      name: 'follows an abort that was stored before its commit',
      given: [...votedYes, found(aborted)],
      step: 'applying',
      effects: [no, tell('files'), tell('records')],
    },
    {
      name: 'follows a commit that was stored before its abort',
      given: [begun(), sealed, checked(own), refused(issue), found(committed)],
      step: 'applying',
      effects: [yes, tell('files'), tell('records')],
    },
    {
      name: 'reads again when the connection was lost in the commit',
      given: [...votedYes, { type: 'outcomeUnknown', at: 1 }],
      step: 'deciding',
      effects: [reread],
    },
    {
      name: 'commits again when the lost commit never happened',
      given: [...votedYes, { type: 'outcomeUnknown', at: 1 }, found({})],
      step: 'deciding',
      effects: [commit('p', 'r1', 'r2')],
    },
    {
      name: 'does not commit for a new owner',
      given: [...votedYes, { type: 'outcomeUnknown', at: 1 }, found({ epoch: 2 })],
      step: 'ended',
      effects: [elsewhere],
    },
    {
      name: 'leaves an unreadable row to the next owner when the lease ends',
      given: [...votedYes, { type: 'outcomeUnknown', at: 10_000 }],
      step: 'ended',
      effects: [{ do: 'answer', answer: { outcome: 'unknown' } }],
    },
    {
      name: 'aborts when the commit is refused permanently',
      given: [...votedYes, { type: 'failed', refusal: DRAFT_LOCKED }],
      step: 'deciding',
      effects: [abort(DRAFT_LOCKED)],
    },
    {
      name: 'wishes again with the epoch that a late renewal brought',
      given: [begun(), sealed, checked(), blocked(1), { type: 'failed', refusal: DRAFT_LOCKED }, renewed],
      step: 'deciding',
      effects: [abort(DRAFT_LOCKED)],
    },
    {
      name: 'ignores a no after the commit',
      given: [...votedYes, found(committed), refused(issue)],
      step: 'applying',
      effects: [],
    },
    {
      name: 'waits for the second to apply',
      given: [...votedYes, found(committed), applied('files')],
      step: 'applying',
      effects: [],
    },
    {
      name: 'counts a repeated apply once',
      given: [...votedYes, found(committed), applied('files'), applied('files')],
      step: 'applying',
      effects: [],
    },
    {
      name: 'finishes when everybody has applied',
      given: [...votedYes, found(committed), applied('records'), applied('files')],
      step: 'finishing',
      effects: [finish],
    },
    {
      name: 'leaves the rest to the next owner and records which participants have applied',
      given: [...votedYes, found(committed), undelivered('records'), applied('files')],
      step: 'ended',
      effects: [{ do: 'postpone', applied: ['files'] }],
    },
    {
      name: 'rests when it is finished',
      given: [...votedYes, found(committed), applied('records'), applied('files'), { type: 'finished' }],
      step: 'ended',
      effects: [],
    },
    {
      name: 'continues a publication committed before a crash',
      given: [begun({ ...aPackage, ...committed, applied: ['files'] })],
      step: 'applying',
      effects: [yes, tell('records')],
    },
    {
      name: 'only finishes what everybody applied before a crash',
      given: [begun({ ...aPackage, ...committed, applied: ['files', 'records'] })],
      step: 'finishing',
      effects: [yes, finish],
    },
    {
      name: 'continues a publication aborted before a crash',
      given: [begun({ ...aPackage, ...aborted })],
      step: 'applying',
      effects: [no, tell('files'), tell('records')],
    },
    {
      name: 'only answers for a finished publication',
      given: [begun({ ...aPackage, state: 'DONE' })],
      step: 'ended',
      effects: [yes],
    },
    {
      name: 'only answers for an aborted and finished publication',
      given: [begun({ ...aPackage, state: 'ABORT_DONE' })],
      step: 'ended',
      effects: [no],
    },
    { name: 'begins once', given: [begun(), begun()], step: 'preparing', effects: [] },
    {
      name: 'does nothing before it begins',
      given: [sealed, prepared('r1'), found(committed)],
      step: 'new',
      effects: [],
    },
  ])('$name', ({ given, step, effects }) => {
    const nothingYet: Transition = { state: { step: 'new' }, effects: [] };
    const last = given.reduce((decision, input) => transition(decision.state, input), nothingYet);
    expect({ step: last.state.step, effects: last.effects }).toEqual({ step, effects });
  });

  test('never requests both a commit and an abort in one decision, and answers at most once, for any inputs', () => {
    const inputs: PublishInput[] = [
      begun(),
      sealed,
      checked(),
      checked(own),
      prepared('r1'),
      refused(issue),
      blocked(5),
      blocked(2000),
      unreachable(1),
      renewed,
      found({}),
      found({ epoch: 2 }),
      found(committed),
      found(withRelated),
      found(aborted),
      { type: 'outcomeUnknown', at: 3 },
      { type: 'failed', refusal: DRAFT_LOCKED },
      applied('files'),
      undelivered('records'),
      applied('records'),
      { type: 'finished' },
    ];
    let seed = 1;
    const next = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let run = 0; run < 20_000; run += 1) {
      let state = transition({ step: 'new' }, begun()).state;
      let answers = 0;
      for (let turn = 0; turn < 12; turn += 1) {
        const input = inputs[next(inputs.length)];
        if (input === undefined) continue;
        const before = state.step;
        const decision = transition(state, input);
        answers += decision.effects.filter((effect) => effect.do === 'answer').length;
        const wishes = decision.effects.filter((effect) => effect.do === 'commit' || effect.do === 'abort');
        const isAllowed =
          wishes.length === 0 || (wishes.length === 1 && ['preparing', 'deciding'].includes(before));
        if (!isAllowed || answers > 1)
          throw new Error(`run ${run}: ${before} ${JSON.stringify({ input, decision })}`);
        state = decision.state;
      }
    }
  });
});

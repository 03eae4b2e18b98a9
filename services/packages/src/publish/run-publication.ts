import { ServiceError } from '@kr/service-error';
import type { ParticipantName, Publication, Refusal } from './publication.ts';
import type { PrepareReply, PublishPorts, SealReply } from './publish-ports.ts';
import {
  type FileManifest,
  type PublishEffect,
  type PublishInput,
  type PublishLimits,
  type PublishResult,
  type PublishState,
  transition,
} from './publish-saga.ts';

export interface Run {
  /**
   * Resolves at the commit point or at the refusal. Participants may not be notified yet, except that the
   * records service was notified of a package with related resources. Never rejects.
   */
  readonly answer: Promise<PublishResult>;
  /** When this owner has nothing left to do. Never rejects. */
  readonly finished: Promise<void>;
}

/**
 * Drives a publication of this process as far as possible. The row has all state that the next owner needs.
 */
export function runPublication(ports: PublishPorts, publication: Publication, limits: PublishLimits): Run {
  const answer = Promise.withResolvers<PublishResult>();
  let state: PublishState = { step: 'new' };

  const dispatch = async (input: PublishInput): Promise<void> => {
    const next = transition(state, input);
    state = next.state;
    await Promise.all(next.effects.map((effect) => execute(effect)));
  };

  const execute = async (effect: PublishEffect): Promise<void> => {
    if (effect.do === 'answer') return answer.resolve(effect.answer);
    const owned = state.step === 'new' ? publication : state.publication;
    const next = await executeEffect(ports, effect, owned);
    if (next !== undefined) await dispatch(next);
  };

  const finished = dispatch({ type: 'begun', publication, limits, at: ports.now().getTime() }).then(
    () => answer.resolve({ outcome: 'unknown' }),
    (cause: unknown) => {
      ports.onFact({ fact: 'failed', publication, cause });
      answer.resolve({ outcome: 'unknown' });
    },
  );
  return { answer: answer.promise, finished };
}

/** Carries one effect out and answers with the input it led to. */
async function executeEffect(
  ports: PublishPorts,
  effect: Exclude<PublishEffect, { do: 'answer' }>,
  publication: Publication,
): Promise<PublishInput | undefined> {
  switch (effect.do) {
    case 'seal':
      return beforeDecision(ports, publication, async () =>
        sealed(await ports.participants.seal(publication)),
      );
    case 'check':
      return beforeDecision(ports, publication, async () => {
        return { type: 'checked', issues: await ports.publications.check(publication, effect.manifests) };
      });
    case 'prepare':
      return beforeDecision(ports, publication, () =>
        prepare(ports, publication, effect.ids, effect.manifests),
      );
    case 'renewThenContinue':
      await ports.sleep(effect.afterMs);
      return beforeDecision(ports, publication, () => renew(ports, publication));
    case 'commit':
      return whileDeciding(ports, publication, () =>
        ports.publications.commit(publication, effect.publishedIds, effect.manifests, ports.now()),
      );
    case 'abort':
      return whileDeciding(ports, publication, () =>
        ports.publications.abort(publication, effect.refusal, ports.now()),
      );
    case 'reread':
      await ports.sleep(effect.afterMs);
      return whileDeciding(
        ports,
        publication,
        async () => (await ports.publications.read(publication.id)) ?? publication,
      );
    case 'notify':
      return notify(ports, publication, effect.participant);
    case 'finish':
      return finish(ports, publication);
    case 'postpone':
      return postpone(ports, publication, effect.applied);
    default:
      return effect satisfies never;
  }
}

function sealed(reply: SealReply): PublishInput | 'blocked' {
  return reply.outcome === 'sealed' ? { type: 'sealed', manifests: reply.manifests } : 'blocked';
}

async function prepare(
  ports: PublishPorts,
  publication: Publication,
  ids: readonly string[],
  manifests: readonly FileManifest[],
): Promise<PublishInput | 'blocked'> {
  const reply: PrepareReply = await ports.participants.prepare(publication, ids, manifests);
  if (reply.outcome === 'blocked') return 'blocked';
  const { remainingIds, bytes } = reply;
  const part = { ids, remainingIds, bytes, at: ports.now().getTime() };
  switch (reply.outcome) {
    case 'prepared':
      return { type: 'prepared', stagedIds: reply.stagedIds, ...part };
    case 'refused':
      return { type: 'refused', issues: reply.issues, ...part };
    default:
      return reply satisfies never;
  }
}

async function renew(ports: PublishPorts, publication: Publication): Promise<PublishInput> {
  const { isRenewed, publication: row } = await ports.publications.renew(publication, ports.now());
  return { type: isRenewed ? 'renewed' : 'rowRead', publication: row };
}

/** Before the commit point: retries unreachable participants; a permanent refusal aborts. */
async function beforeDecision(
  ports: PublishPorts,
  publication: Publication,
  call: () => Promise<PublishInput | 'blocked'>,
): Promise<PublishInput> {
  try {
    const reply = await call();
    return reply === 'blocked' ? { type: 'blocked', at: ports.now().getTime() } : reply;
  } catch (cause) {
    if (isFinal(cause)) return { type: 'failed', refusal: refusalOf(cause) };
    ports.onFact({ fact: 'retried', publication, cause });
    return { type: 'unreachable', at: ports.now().getTime() };
  }
}

/** After a connection loss inside COMMIT only the row shows the outcome. */
async function whileDeciding(
  ports: PublishPorts,
  publication: Publication,
  write: () => Promise<Publication>,
): Promise<PublishInput> {
  try {
    const row = await write();
    observeDecision(ports, publication, row);
    return { type: 'rowRead', publication: row };
  } catch (cause) {
    if (isFinal(cause)) return { type: 'failed', refusal: refusalOf(cause) };
    ports.onFact({ fact: 'retried', publication, cause });
    return { type: 'outcomeUnknown', at: ports.now().getTime() };
  }
}

function observeDecision(ports: PublishPorts, before: Publication, row: Publication): void {
  if (before.state !== 'PREPARING' || row.state === 'PREPARING') return;
  const isCommitted = row.state === 'COMMITTED' || row.state === 'DONE';
  ports.onFact({ fact: isCommitted ? 'committed' : 'aborted', publication: row });
}

async function notify(
  ports: PublishPorts,
  publication: Publication,
  participant: ParticipantName,
): Promise<PublishInput> {
  try {
    await ports.participants.notify(participant, publication);
    return { type: 'applied', participant };
  } catch (cause) {
    ports.onFact({ fact: 'undelivered', publication, participant, cause });
    return { type: 'undelivered', participant };
  }
}

/** A decision cannot be undone: if the write fails, the next owner repeats it. */
async function finish(ports: PublishPorts, publication: Publication): Promise<PublishInput | undefined> {
  try {
    await ports.publications.finish(publication, ports.now());
    ports.onFact({ fact: 'finished', publication });
    return { type: 'finished' };
  } catch (cause) {
    ports.onFact({ fact: 'retried', publication, cause });
    return undefined;
  }
}

async function postpone(
  ports: PublishPorts,
  publication: Publication,
  applied: readonly ParticipantName[],
): Promise<undefined> {
  try {
    await ports.publications.postpone(publication, applied, ports.now());
  } catch (cause) {
    ports.onFact({ fact: 'retried', publication, cause });
  }
}

function isFinal(cause: unknown): cause is ServiceError {
  return cause instanceof ServiceError && !['unavailable', 'internal', 'rate_limited'].includes(cause.kind);
}

function refusalOf({ kind, message, issues, code, retryAfterMs, currentRevision }: ServiceError): Refusal {
  return {
    kind,
    message,
    issues,
    ...(code === undefined ? {} : { code }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(currentRevision === undefined ? {} : { currentRevision }),
  };
}

import { appendEvents } from '@kr/event-bus';
import { ServiceError } from '@kr/service-error';
import type { Publication } from './entity-kind.ts';
import type { LifecycleDeps } from './lifecycle-deps.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import { onDecide } from './participant-rules.ts';
import { lockParticipant, type Participant, writeParticipant } from './participant-store.ts';
import { dropStaged, showStaged } from './staging-store.ts';
import { transact } from './transact.ts';

/**
 * Carries out what the coordinator decided, in one transaction; any number of times, by anybody who learned of it.
 *
 * @throws ServiceError `internal` when this service never agreed to what is committed, or has shown what is aborted
 */
export async function applyDecision<Tx extends LifecycleSql>(
  deps: LifecycleDeps<Tx>,
  publicationId: string,
  isCommitted: boolean,
): Promise<void> {
  await transact(deps, async (tx) => {
    const participant = await lockParticipant(tx, publicationId);
    switch (onDecide(participant, isCommitted)) {
      case 'apply':
        if (participant !== null) await show(deps, tx, participant);
        return;
      case 'drop':
        await dropStaged(tx, publicationId);
        await writeParticipant(
          tx,
          { ...(participant ?? unheardOf(publicationId)), state: 'aborted' },
          deps.now(),
        );
        return;
      case 'done':
        return;
      case 'impossible':
        deps.logger.fatal({ publicationId, isCommitted, state: participant?.state }, 'impossible decision');
        throw new ServiceError('internal', 'Internal server error.');
    }
  });
}

async function show<Tx extends LifecycleSql>(
  { kind, now }: LifecycleDeps<Tx>,
  tx: Tx,
  participant: Participant,
): Promise<void> {
  const { publicationId, packageId } = participant;
  const publication: Publication = { id: publicationId, packageId, recordIds: [] };
  const published = await showStaged(tx, publicationId);
  await appendEvents(
    tx,
    published.map((entity) => kind.events.published(entity, publication)),
  );
  await kind.hooks.published?.(tx, published, publication);
  await writeParticipant(tx, { ...participant, state: 'applied' }, now());
}

/** An abort that comes before its prepare: the row keeps that prepare out. */
function unheardOf(publicationId: string): Participant {
  return {
    publicationId,
    state: 'aborted',
    epoch: 0,
    packageId: '',
    packageParentId: '',
    stagedIds: [],
    unchangedIds: [],
    issues: [],
  };
}

import type { LifecycleDeps, LifecycleStore } from '@kr/draft-lifecycle';
import type { AbandonedPublications } from '../../services/packages/src/publish/abandoned-publications.ts';
import type { ParticipantCalls, PublicationLog } from '../../services/packages/src/publish/publish-ports.ts';
import type { MemoryPublicationsDeps, Publications } from './memory-publications.ts';
import type { VirtualTime } from './virtual-time.ts';

export type AskCoordinator = LifecycleDeps['resolvePublications'];

/** Ports that differ from the real ones. Others are real. */
export interface Variation {
  readonly name: string;
  log?(publications: Publications, deps: MemoryPublicationsDeps): PublicationLog;
  decisions?(publications: Publications): AbandonedPublications;
  participants?(real: ParticipantCalls): ParticipantCalls;
  /** How the readers of the records service learn of decisions. */
  readersAsk?(ask: AskCoordinator, time: VirtualTime): AskCoordinator;
  /** How its janitor does. */
  janitorAsks?(ask: AskCoordinator): AskCoordinator;
  /** The store for edits of the records service. */
  editStore?(store: LifecycleStore): LifecycleStore;
}

export const AS_BUILT: Variation = { name: 'as built' };

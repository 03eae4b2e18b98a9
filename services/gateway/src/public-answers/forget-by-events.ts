import { type BusConnection, overhearEvents } from '@kr/event-bus';
import type { Logger } from '@kr/telemetry';
import type { PublicAnswers } from './public-answers.ts';

/** What changes a published document, its relations or who may see it. */
const SUBJECTS = [
  'knowledge.records.record.published',
  'knowledge.records.record.changed',
  'knowledge.packages.package.published',
  'knowledge.packages.package.changed',
  'knowledge.packages.resources.changed',
] as const;

/** Forgets what changed elsewhere, usually within milliseconds; what is missed expires. */
export function forgetByEvents(
  answers: Pick<PublicAnswers, 'forgetParent' | 'forgetAll'>,
  connection: BusConnection,
  logger: Logger,
): { stop(): Promise<void> } {
  return overhearEvents({
    connection,
    subjects: SUBJECTS,
    onEvent: ({ parentId }) => answers.forgetParent(parentId),
    onGap: answers.forgetAll,
    logger,
  });
}

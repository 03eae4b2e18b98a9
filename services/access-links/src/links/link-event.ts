import { newEvent, type OutboxEvent } from '@kr/event-bus';
import type { Link } from '../link.ts';

/** The fact that a link was made, changed or ended; it never carries a token. */
export function linkEvent(verb: 'created' | 'changed' | 'revoked', link: Link): OutboxEvent {
  const { linkId, parentId, permission } = link;
  const revision = String(link.revision);
  return newEvent(
    `knowledge.access-links.link.${verb}`,
    { id: linkId, parentId, permission, revision },
    { aggregateId: linkId, revision },
  );
}

import type { Call, History } from './history.ts';
import type { Violation } from './violation.ts';

/** The minimum that a read of an entity must show, and its reason. */
interface Floor {
  publication: number;
  because: 'accepted' | 'seen';
  /** Where it was seen. */
  entity: string;
}

interface Publication {
  entities: readonly string[];
  /** Attempts that run, or ended otherwise than by a refusal. */
  possible: number;
  isSeen: boolean;
}

const NOTHING: Floor = { publication: 0, because: 'seen', entity: '' };

/**
 * Finds violations of atomic and permanent publication. A client that has seen one of
 * the entities as published, or received the success, has set a minimum for all of them: no later read of any of
 * them may show an older state. One pass.
 */
export function checkPublications(history: History): Violation[] {
  const violations: Violation[] = [];
  const floors = new Map<string, Floor>();
  const publications = new Map<number, Publication>();
  const running = new Map<number, { call: Call; floor: Floor }>();

  const raise = (publication: number, because: Floor['because'], entity: string): void => {
    for (const one of publications.get(publication)?.entities ?? []) {
      if ((floors.get(one) ?? NOTHING).publication < publication) {
        floors.set(one, { publication, because, entity });
      }
    }
  };

  const judge = (entity: string, seen: number, floor: Floor, at: number): void => {
    if (seen < floor.publication) {
      const shown = `shows publication ${seen} after ${floor.publication} was ${floor.because}`;
      const what = floor.because === 'seen' ? `${shown} in ${floor.entity}` : shown;
      violations.push({ kind: kindOf(floor, entity), entity, at, what });
    }
    if (seen === 0) return;
    const publication = publications.get(seen);
    if (publication !== undefined) publication.isSeen = true;
    if (publication === undefined || publication.possible === 0) {
      const what = `shows publication ${seen}, which ${publication === undefined ? 'no client requested' : 'was refused'}`;
      violations.push({ kind: 'refused publication seen', entity, at, what });
    }
    raise(seen, 'seen', entity);
  };

  for (const event of history) {
    if (event.type === 'invoke') {
      const { call, client } = event;
      const floor = call.do === 'read' ? (floors.get(call.entity) ?? NOTHING) : NOTHING;
      running.set(client, { call, floor });
      if (call.do !== 'publish') continue;
      const known = publications.get(call.publication);
      if (known === undefined) {
        publications.set(call.publication, { entities: call.entities, possible: 1, isSeen: false });
      } else known.possible += 1;
      continue;
    }
    const ended = running.get(event.client);
    running.delete(event.client);
    if (ended?.call.do === 'publish') {
      const { publication: number } = ended.call;
      if (event.type === 'ok') raise(number, 'accepted', '');
      if (event.type !== 'fail') continue;
      const publication = publications.get(number);
      if (publication === undefined) continue;
      publication.possible -= 1;
      if (publication.possible === 0 && publication.isSeen) {
        const entity = publication.entities.join(', ');
        const what = `publication ${number} is refused after it was seen`;
        violations.push({ kind: 'refused publication seen', entity, at: event.at, what });
      }
    } else if (ended?.call.do === 'read' && ended.call.form === 'published' && event.type === 'ok') {
      if (event.seen === undefined) continue;
      const seen = event.seen === 'absent' ? 0 : event.seen.publication;
      judge(ended.call.entity, seen, ended.floor, event.at);
    }
  }
  return violations;
}

function kindOf(floor: Floor, entity: string): Violation['kind'] {
  if (floor.because === 'accepted') return 'publication reverted';
  return floor.entity === entity ? 'non-monotonic read' : 'fractured read';
}

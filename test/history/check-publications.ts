import type { Call, History } from './history.ts';
import type { Violation } from './violation.ts';

/** What a read of an entity must not fall behind of, and why. */
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
 * Finds what contradicts that entities are published together, at one moment and for good. Whoever has seen one of
 * them as published by a publication, or was told that it succeeded, has set a floor for all of them: no read of any of
 * them that begins later may show an older state. One pass.
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
      const what = `shows publication ${seen}, which ${publication === undefined ? 'nobody asked for' : 'was refused'}`;
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
  if (floor.because === 'accepted') return 'publication taken back';
  return floor.entity === entity ? 'non-monotonic read' : 'fractured read';
}

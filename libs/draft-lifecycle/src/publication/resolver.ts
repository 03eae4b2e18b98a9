import { ServiceError } from '@kr/service-error';
import type { Decision, LifecycleDeps, PublicationResolver } from '../context/context.ts';
import { applyDecision } from './decide.ts';

type FinalDecision = Exclude<Decision, 'undecided'>;

const REMEMBERED = 10_000;

export function createPublicationResolver(deps: LifecycleDeps): PublicationResolver {
  const known = new Map<string, FinalDecision>();

  // Each reader sends a separate query: a response already in flight may be older than the state it has seen.
  async function learn(ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    try {
      for (const [id, decision] of await deps.resolvePublications(ids)) {
        if (decision !== 'undecided') remember(known, id, decision);
      }
      return [];
    } catch (error) {
      deps.logger.warn({ err: error, publications: ids.length }, 'the coordinator cannot be reached');
      return ids;
    }
  }

  return {
    async resolve(publicationIds) {
      const unasked = await learn(publicationIds.filter((id) => !known.has(id)));
      const unknown = new Map(unasked.map((id) => [id, unresolved()]));
      const decided = publicationIds.flatMap((id) => entry(known, id));
      let isChanged = false;
      for (const [id, decision] of decided) {
        try {
          await applyDecision(deps, id, decision === 'committed');
          isChanged = true;
        } catch (error) {
          // A decision is not visible before it is stored, and the others need not wait for it.
          deps.logger.error({ err: error, publicationId: id }, 'a decision could not be carried out');
          unknown.set(id, ServiceError.from(error));
        }
      }
      return { isChanged, unknown };
    },
  };
}

/** Whether it is published is unknown, so no answer, including the old version, would be correct. */
function unresolved(): ServiceError {
  return new ServiceError('unavailable', 'A publication is being decided.', { retryAfterMs: 1_000 });
}

function remember(known: Map<string, FinalDecision>, id: string, decision: FinalDecision): void {
  known.set(id, decision);
  const [oldest] = known.keys();
  if (known.size > REMEMBERED && oldest !== undefined) known.delete(oldest);
}

function entry(known: ReadonlyMap<string, FinalDecision>, id: string): [string, FinalDecision][] {
  const decision = known.get(id);
  return decision === undefined ? [] : [[id, decision]];
}

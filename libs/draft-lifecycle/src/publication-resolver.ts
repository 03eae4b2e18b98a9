import { ServiceError } from '@kr/service-error';
import { applyDecision } from './apply-decision.ts';
import type { Decision, LifecycleDeps } from './lifecycle-deps.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';

/** Learns how publications ended and carries that out here. */
export interface PublicationResolver {
  /**
   * Asks about these publications and applies the ones that are decided. True when anything was applied, so that
   * what was read before must be read again.
   *
   * @throws ServiceError `unavailable` when the coordinator cannot be asked
   */
  settle(publicationIds: readonly string[]): Promise<boolean>;
}

type FinalDecision = Exclude<Decision, 'undecided'>;

const REMEMBERED = 10_000;

export function createPublicationResolver<Tx extends LifecycleSql>(
  deps: LifecycleDeps<Tx>,
): PublicationResolver {
  const known = new Map<string, FinalDecision>();

  // Each reader asks for itself: an answer that was under way before it came may be older than what it has seen.
  async function decisions(ids: readonly string[]): Promise<Map<string, FinalDecision>> {
    const unknown = ids.filter((id) => !known.has(id));
    if (unknown.length > 0) {
      for (const [id, decision] of await ask(deps, unknown)) {
        if (decision !== 'undecided') remember(known, id, decision);
      }
    }
    return new Map(ids.flatMap((id) => entry(known, id)));
  }

  return {
    async settle(publicationIds) {
      const decided = await decisions(publicationIds);
      for (const [id, decision] of decided) await applyDecision(deps, id, decision === 'committed');
      return decided.size > 0;
    },
  };
}

async function ask(
  { resolvePublications }: Pick<LifecycleDeps, 'resolvePublications'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Decision>> {
  try {
    return await resolvePublications(ids);
  } catch (cause) {
    // Whether it is published is not known, so neither "yes" nor "no" nor the old version may be said.
    throw new ServiceError('unavailable', 'A publication is being decided.', { retryAfterMs: 1_000, cause });
  }
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

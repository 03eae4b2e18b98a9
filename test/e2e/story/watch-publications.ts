import type { Listing } from './answers.ts';
import type { HttpClient } from './http-client.ts';
import type { PackageOfResources } from './stories.ts';

export interface Watch {
  /** Sightings of half a publication, and answers that no reader should get. Empty when all is well. */
  stop(): Promise<{ rounds: number; offences: string[] }>;
}

/**
 * Reads packages and their resources anonymously and repeatedly: the package before its resources and after
 * them, and all in one search. A publication is not undone, so a reader of one part must see the others later.
 */
export function watchPublications(
  client: HttpClient,
  packages: readonly PackageOfResources[],
  { everyMs = 20 } = {},
): Watch {
  const offences: string[] = [];
  let rounds = 0;
  let isStopped = false;

  const look = async (target: string): Promise<'there' | 'absent' | 'unknown'> => {
    const answer = await client.call('GET', target).catch(() => undefined);
    if (answer === undefined || answer.status === 503) return 'unknown';
    if (answer.status === 200) return 'there';
    if (answer.status !== 404) offences.push(`GET ${target}: ${answer.status} ${answer.text}`);
    return 'absent';
  };

  const inOrder = async (targets: readonly string[]): Promise<void> => {
    const seen: string[] = [];
    for (const target of targets) {
      const sight = await look(target);
      if (sight === 'absent' && seen.includes('there')) {
        offences.push(`half of ${targets.join(', ')}: ${[...seen, sight].join(', ')}`);
      }
      seen.push(sight);
    }
  };

  const inSearch = async ({ main, resources }: PackageOfResources): Promise<void> => {
    const ids = [main, ...resources].map(({ id }) => id);
    const q = encodeURIComponent(ids.map((id) => `id:"${id}"`).join(' OR '));
    const answer = await client.call<Listing>('GET', `/search?q=${q}`).catch(() => undefined);
    const found = answer?.status === 200 ? answer.body.hits.total : 0;
    if (found !== 0 && found !== ids.length) offences.push(`search finds ${found} of ${ids.length}`);
  };

  const round = async (one: PackageOfResources): Promise<void> => {
    const main = `/packages/${one.main.id}`;
    const resources = one.resources.map(({ id }) => `/records/${id}`);
    await inOrder([main, ...resources]);
    await inOrder([...resources, main]);
    await inSearch(one);
    rounds += 1;
  };

  const loops = packages.map(async (one) => {
    while (!isStopped) {
      await round(one);
      await new Promise((wake) => setTimeout(wake, everyMs));
    }
    await round(one);
  });
  return {
    async stop() {
      isStopped = true;
      await Promise.all(loops);
      return { rounds, offences };
    },
  };
}

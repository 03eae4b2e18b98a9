import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICES, type ServiceName } from '@kr/local-stack';
import { median, quantile } from '../bench/load.ts';
import { createDraft, publishRecord, recordBody } from '../bench/scenarios/deposit.ts';
import { arrive } from './arrivals.ts';
import type { Asked } from './timed-client.ts';
import type { World } from './world.ts';

/** The dependencies of each kind of request. */
const EDGES = [
  'gateway to postgres',
  'gateway to records',
  'gateway to packages',
  'gateway to files',
  'gateway to access-links',
  'gateway to search',
  'gateway to nats',
  'records to postgres',
  'records to packages',
  'records to files',
  'records to nats',
  'packages to postgres',
  'packages to records',
  'packages to files',
  'packages to nats',
  'files to postgres',
  'files to packages',
  'files to nats',
  'access-links to postgres',
  'search to postgres',
  'search to records',
  'search to packages',
  'search to nats',
] as const;

export type Edge = (typeof EDGES)[number];
export const SLOWED_EDGES: readonly Edge[] = EDGES;

export interface SlowFigures {
  edge: Edge;
  /** Median milliseconds of each kind of request, and those without a success. */
  routes: { route: string; p50: number; usualP50: number; failed: number }[];
  /** Requests that became slower without depending on it. */
  wronglySlow: string[];
  /** The 99th percentile over all services of the event loop delay, in milliseconds. */
  worstLoopDelayP99: { service: string; ms: number };
}

/** The kinds of requests, with every service involved. */
interface Route {
  name: string;
  needs: readonly (ServiceName | 'nats')[];
  asked: Asked;
}

const LATENCY_MS = 500;
const PER_SECOND = 30;
/** More than the noise of a machine, and less than one way of the added delay. */
const SLOWER_MS = 200;
const PROBE_EVERY_MS = 20;

/** Makes one connection after the other slow, both ways together by half a second, and looks who notices. */
export async function measureSlowDependencies(
  world: World,
  seconds: number,
  say: (line: string) => void,
): Promise<SlowFigures[]> {
  const routes = await prepare(world);
  const usual = await ask(world, routes, seconds);
  const figures: SlowFigures[] = [];
  for (const edge of EDGES) {
    const heal = world.system
      .proxy(edge)
      .inflict({ kind: 'latency', ms: LATENCY_MS, direction: 'to client' });
    // Time in the pool's queue is excluded.
    await sleep(LATENCY_MS);
    const delays = watchLoops(world);
    const slowed = await ask(world, routes, seconds);
    const worstLoopDelayP99 = await (await delays).stop();
    heal();
    const compared = routes.map(({ name, needs }) => {
      const p50 = median(slowed.get(name)?.times ?? []);
      const usualP50 = median(usual.get(name)?.times ?? []);
      return { route: name, needs, p50, usualP50, failed: slowed.get(name)?.failed ?? 0 };
    });
    const wronglySlow = compared
      .filter(({ p50, usualP50, needs }) => p50 - usualP50 > SLOWER_MS && !goesOver(edge, needs))
      .map(({ route }) => route);
    figures.push({
      edge,
      routes: compared.map(({ needs: _, ...one }) => one),
      wronglySlow,
      worstLoopDelayP99,
    });
    const slow = compared.filter(({ p50, usualP50 }) => p50 - usualP50 > SLOWER_MS);
    say(
      `${edge}: slow are ${slow.map(({ route, p50 }) => `${route} (${p50.toFixed(0)} ms)`).join(', ') || 'none'}`,
    );
    await sleep(2 * LATENCY_MS);
  }
  return figures;
}

function goesOver(edge: Edge, needs: Route['needs']): boolean {
  const [from, to] = edge.split(' to ') as [ServiceName, ServiceName | 'postgres' | 'nats'];
  return needs.includes(from) && (to === 'postgres' || needs.includes(to));
}

async function prepare({ repository, system }: World): Promise<Route[]> {
  const { token } = system;
  const { id } = await publishRecord(repository, 'Slow or not');
  const draft = await createDraft(repository, 'Slow or not, a draft');
  const packaged = (await repository.send('POST', '/api/packages', recordBody('Slow or not, together'))) as {
    id: string;
  };
  const get = (path: string, as?: string): Asked => ({ method: 'GET', path, token: as });
  return [
    { name: 'ping', needs: [], asked: get('/api/ping') },
    { name: 'vocabulary', needs: [], asked: get('/api/vocabularies/languages?size=5') },
    { name: 'whoami', needs: ['gateway'], asked: get('/api/user', token) },
    {
      name: 'read record',
      needs: ['gateway', 'records', 'packages'],
      asked: get(`/api/records/${id}`, token),
    },
    {
      name: 'read package draft',
      needs: ['gateway', 'packages', 'records'],
      asked: get(`/api/packages/${packaged.id}/draft`, token),
    },
    // Hits are read from the services that own them.
    { name: 'search', needs: ['gateway', 'search', 'records'], asked: get('/api/records?q=slow') },
    {
      name: 'own search',
      needs: ['gateway', 'search', 'records', 'packages', 'nats'],
      asked: get('/api/user/records?q=slow', token),
    },
    {
      name: 'edit',
      needs: ['gateway', 'records', 'packages', 'files'],
      asked: {
        method: 'PUT',
        path: `/api/records/${draft.id}/draft`,
        token,
        body: JSON.stringify(recordBody('Slow or not')),
      },
    },
    {
      name: 'list files',
      needs: ['gateway', 'records', 'packages', 'files'],
      asked: get(`/api/records/${id}/files`, token),
    },
  ];
}

async function ask({ client, random }: World, routes: readonly Route[], seconds: number) {
  const answers = new Map(routes.map(({ name }) => [name, { times: [] as number[], failed: 0 }]));
  await arrive({
    perSecond: PER_SECOND,
    seconds,
    random,
    begin: async () => {
      const route = routes[Math.floor(random() * routes.length)];
      if (route === undefined) return;
      const { status, took } = await client.ask(route.asked);
      const counted = answers.get(route.name);
      if (status < 300 && status > 0) counted?.times.push(took);
      else if (counted !== undefined) counted.failed += 1;
    },
  });
  return answers;
}

/** A service with a responsive event loop answers `/livez` at once. */
async function watchLoops({ system }: World) {
  const runtime = JSON.parse(await readFile(join(system.logDir, '../runtime.json'), 'utf8')) as {
    services: Record<ServiceName, { health: string }>;
  };
  let isOver = false;
  const watching = SERVICES.map(async (service) => {
    const times: number[] = [];
    while (!isOver) {
      const began = performance.now();
      await fetch(`${runtime.services[service].health}/livez`).then((answer) => answer.arrayBuffer());
      times.push(performance.now() - began);
      await sleep(PROBE_EVERY_MS);
    }
    return {
      service,
      ms: quantile(
        times.toSorted((a, b) => a - b),
        0.99,
      ),
    };
  });
  return {
    async stop() {
      isOver = true;
      const [worst] = (await Promise.all(watching)).toSorted((a, b) => b.ms - a.ms);
      return worst ?? { service: 'none', ms: 0 };
    },
  };
}

import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICES } from '@kr/local-stack';
import { until } from '@kr/testbed';
import { Client } from 'pg';
import { quantile } from '../bench/load.ts';
import { publishRecord } from '../bench/scenarios/deposit.ts';
import { timedClient } from './timed-client.ts';
import type { World } from './world.ts';

export interface HerdFigures {
  clients: number;
  /** Seconds from the end of the processes until the health of all new processes was good. */
  systemBackSeconds: number;
  /** Seconds from then until a client received its answer. */
  readyP50: number;
  readyP99: number;
  refusals: number;
  /** Sessions at Postgres: the most that were seen, and how many there may be. */
  mostSessions: number;
  allowedSessions: number;
}

const RETRY_MS = 100;

/** All services end at once, and all clients are back before them. */
export async function measureHerd({ system, repository }: World, clients: number): Promise<HerdFigures> {
  const { id } = await publishRecord(repository, 'A popular record');
  const path = `/api/records/${id}`;
  const herd = Array.from({ length: clients }, () => timedClient(system.baseUrl, { connections: 1 }));
  const postgres = new Client({ connectionString: system.databaseUrls.gateway });
  await postgres.connect();
  await Promise.all(herd.map((client) => client.ask({ method: 'GET', path, token: system.token })));

  const pids = new Map(SERVICES.map((part) => [part, system.pid(part)]));
  for (const part of SERVICES) system.kill(part, 'SIGKILL');
  const killedAt = performance.now();
  let mostSessions = 0;
  let refusals = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const { rows } = await postgres.query<{ count: number }>(
        // The sessions of other users are hidden from a role; their number is not.
        'select sum(numbackends)::int as count from pg_stat_database',
      );
      mostSessions = Math.max(mostSessions, rows[0]?.count ?? 0);
      await sleep(50);
    }
  })();
  const answeredAt = Promise.all(
    herd.map(async (client) => {
      for (;;) {
        const answer = await client.ask({ method: 'GET', path, token: system.token });
        if (answer.status === 200) return performance.now();
        if (answer.status === 503) refusals += 1;
        const told = Number(answer.retryAfter ?? 0) * 1_000;
        await sleep(Math.max(told, RETRY_MS));
      }
    }),
  );
  const isBack = () => SERVICES.every((part) => ![undefined, pids.get(part)].includes(system.pid(part)));
  await until(
    () => isBack() && system.progress.filter((line) => line.endsWith('is back')).length >= SERVICES.length,
    { what: 'all services to be back', timeoutMs: 120_000 },
  );
  const backAt = performance.now();
  const waits = (await answeredAt).map((at) => Math.max(0, at - backAt) / 1_000).toSorted((a, b) => a - b);
  isOver = true;
  await watching;
  const { rows } = await postgres.query<{ max: string }>("select current_setting('max_connections') as max");
  await postgres.end();
  await Promise.all(herd.map((client) => client.close()));
  return {
    clients,
    systemBackSeconds: (backAt - killedAt) / 1_000,
    readyP50: quantile(waits, 0.5),
    readyP99: quantile(waits, 0.99),
    refusals,
    mostSessions,
    allowedSessions: Number(rows[0]?.max),
  };
}

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePort } from '@kr/local-stack/backends';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { Client } from 'pg';
import { holdDecisions } from '../faults/held-decisions.ts';
import type { Entity } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type HttpClient, oneTryClient } from './story/http-client.ts';
import { adminCommand } from './story/operator-command.ts';
import { useSearchTables } from './story/search-tables.ts';
import { link, packageOfResources } from './story/stories.ts';

const PARTS = ['packages', 'records', 'files', 'search'] as const;
type Part = (typeof PARTS)[number];
const PATIENT = { timeoutMs: 60_000, everyMs: 100 };

let system: TestSystem;
let author: HttpClient;
const ports = new Map<string, number>();
beforeAll(async () => {
  for (const part of PARTS) ports.set(part, await freePort());
  system = await startSystem({
    skipsDriftCheck: true,
    settings: { publishLeaseMs: 4_000, publishReachMs: 6_000, publishDeadlineMs: 600_000 },
    environmentOf: async (service, environment) => {
      const port = ports.get(service);
      if (port === undefined) return environment;
      return {
        ...environment,
        OTEL_METRICS_EXPORTER: 'prometheus',
        OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
        OTEL_EXPORTER_PROMETHEUS_PORT: String(port),
        OTEL_TRACES_EXPORTER: 'none',
      };
    },
  });
  author = oneTryClient(system.baseUrl, system.token);
});
afterAll(() => system?.stop());

/** Locks a table of a service, so that its callers wait. Returns the function that releases it. */
async function block(part: Part, table: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: system.databaseUrls[part] });
  await client.connect();
  await client.query('begin');
  await client.query(`lock table ${table} in access exclusive mode`);
  return () => client.end();
}

/** The present scrape of a Prometheus server from the service. */
async function scrape(part: Part): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${ports.get(part)}/metrics`);
  if (!answer.ok) throw new Error(`${part} answered ${answer.status}`);
  return answer.text();
}

/** The sum of the samples of a metric that have these labels. */
async function sampled(part: Part, metric: string, labels: Record<string, string> = {}): Promise<number> {
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  const samples = (await scrape(part))
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) && wanted.every((label) => line.includes(label)));
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf('} ') + 2).split(' ')[0]), 0);
}

const packages = (metric: string, labels?: Record<string, string>) => sampled('packages', metric, labels);
const publish = (draft: Entity) => author.call('POST', link(draft, 'publish'), { timeoutMs: 120_000 });
const newRecord = (title: string) => author.sure<Entity>('POST', '/records', { json: recordDocument(title) });

test('a finished one is counted, timed, and removed from the open ones', async () => {
  // The connections to restarted services are reopened; a publication needs all of them.
  const { main } = await until(async () => {
    const made = await packageOfResources(author, 'Counted', 2);
    await author.sure('POST', `/packages/${made.main.id}/draft/actions/validate`);
    return made;
  }, PATIENT);
  expect((await publish(main)).status).toBe(202);
  const committed = { subject: 'package', outcome: 'committed' };
  await until(async () => (await packages('publications_finished_total', committed)) === 1, PATIENT);
  expect({
    started: await packages('publications_started_total', { subject: 'package' }),
    committed: await packages('publications_committed_total', { subject: 'package' }),
    decided: await packages('publication_decision_seconds_count', committed),
    settled: await packages('publication_duration_seconds_count', committed),
    open: await packages('publications_open'),
    oldest: await packages('publications_open_oldest_seconds'),
  }).toEqual({ started: 1, committed: 1, decided: 1, settled: 1, open: 0, oldest: 0 });
  expect(await packages('publication_duration_seconds_sum', committed)).toBeGreaterThan(0);
});

test('one that was wrong is counted as refused, with the reason', async () => {
  const wrong = await newRecord('ab');
  expect((await publish(wrong)).status).toBe(400);
  const refused = { subject: 'record', outcome: 'refused' };
  await until(async () => (await packages('publications_finished_total', refused)) === 1, PATIENT);
  expect({
    refused: await packages('publications_refused_total', { subject: 'record', reason: 'not_publishable' }),
    decided: await packages('publication_decision_seconds_count', refused),
    committed: await packages('publications_committed_total', { subject: 'record' }),
    aborted: await packages('publications_aborted_total'),
  }).toEqual({ refused: 1, decided: 1, committed: 0, aborted: 0 });
});

test('one that could not be decided is counted as aborted, is open until everybody knows, and is taken over', async () => {
  const draft = await newRecord('Without files');
  const letGo = await block('files', 'bucket');
  expect((await publish(draft)).status).toBe(503);
  await until(async () => (await packages('publications_open', { state: 'ABORTED' })) === 1, PATIENT);
  expect({
    aborted: await packages('publications_aborted_total', { subject: 'record', reason: 'unavailable' }),
    refused: await packages('publications_refused_total', { subject: 'record' }),
    isRetried: (await packages('publication_steps_retried_total')) > 0,
    isOld: (await packages('publications_open_oldest_seconds', { state: 'ABORTED' })) > 0,
  }).toEqual({ aborted: 1, refused: 1, isRetried: true, isOld: true });
  const missed = { participant: 'files' };
  await until(async () => (await packages('publication_decisions_undelivered_total', missed)) > 0, PATIENT);
  await until(async () => (await packages('publications_resumed_total', { state: 'ABORTED' })) > 0, PATIENT);
  await letGo();
  await until(async () => (await packages('publications_open')) === 0, PATIENT);
  const settled = { subject: 'record', outcome: 'aborted' };
  await until(async () => (await packages('publications_finished_total', settled)) > 0, PATIENT);
  expect(await packages('publications_finished_total', settled)).toBe(1);
});

test('locks are counted by their holders, and so are their queries to the coordinator', async () => {
  const draft = await newRecord('Held');
  const { letGo } = await holdDecisions(system.databaseUrls.packages);
  const publishing = publish(draft);
  let unblock: (() => Promise<void>) | undefined;
  const outcome = (part: Part, name: string) =>
    sampled(part, 'publication_resolutions_total', { outcome: name });
  try {
    await until(async () => (await sampled('records', 'publication_locks')) === 1, PATIENT);
    await until(async () => (await sampled('files', 'publication_seals')) === 1, PATIENT);
    await until(async () => (await sampled('files', 'publication_seals_oldest_seconds')) > 2, PATIENT);
    await until(async () => (await sampled('records', 'publication_locks_oldest_seconds')) > 2, PATIENT);
    await until(async () => (await outcome('records', 'undecided')) > 0, PATIENT);
    await until(async () => (await outcome('files', 'undecided')) > 0, PATIENT);
    unblock = await block('packages', 'publication');
    await until(async () => (await outcome('records', 'unreachable')) > 0, PATIENT);
    await until(async () => (await outcome('files', 'unreachable')) > 0, PATIENT);
  } finally {
    await unblock?.();
    await letGo();
  }
  await publishing;
  await until(async () => (await publish(draft)).status === 202, PATIENT);
  await until(async () => (await sampled('records', 'publication_locks')) === 0, PATIENT);
  await until(async () => (await sampled('files', 'publication_seals')) === 0, PATIENT);
  expect({
    locks: await sampled('records', 'publication_locks_oldest_seconds'),
    seals: await sampled('files', 'publication_seals_oldest_seconds'),
  }).toEqual({ locks: 0, seals: 0 });
});

test('the page about publications has every metric by its name', async () => {
  const page = await readFile(resolve(import.meta.dirname, '../../docs/publications.md'), 'utf8');
  const exported = (await Promise.all(PARTS.map(scrape))).flatMap((text) =>
    [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name),
  );
  const ours = [...new Set(exported)].filter((name) => /^(publications?|package)_/.test(name));
  expect({
    some: ours.length > 10,
    untold: ours.filter((name) => !page.includes(`\`${name}\``)),
  }).toEqual({ some: true, untold: [] });
});

test('the index shows its delay, refused events, and differences', async () => {
  const search = (metric: string) => sampled('search', metric);
  const client = new Client({ connectionString: system.databaseUrls.search });
  await client.connect();
  try {
    // Earlier publications may still be in flight.
    const isCaughtUp = async () =>
      (await search('search_events_pending')) === 0 && (await search('search_events_oldest_seconds')) === 0;
    await until(isCaughtUp, PATIENT);
    expect(await search('search_dead_letters')).toBe(0);
    await client.query(
      `insert into dead_letter (consumer, event_id, subject, payload, headers, deliveries, reason)
       values ('search-index', 'e', 'knowledge.records.draft.saved', '', '{}', 1, 'broken')`,
    );
    await useSearchTables(client);
    await client.query(`update index_document set content_hash = '' where form = 'published'`);
    // Refused while events are on their way for longer than a comparison waits.
    await until(async () => (await adminCommand(system, 'search', 'drift')).out !== '', PATIENT);
    expect([
      await search('search_dead_letters'),
      (await search('search_drift_stale')) > 0,
      (await search('search_drift_age_seconds')) > 0,
    ]).toEqual([1, true, true]);
    await client.query('begin');
    await client.query('lock table index_box in access exclusive mode');
    await newRecord('Waits to be indexed');
    await until(async () => (await search('search_events_oldest_seconds')) > 0, PATIENT);
    expect(await search('search_events_pending')).toBeGreaterThan(0);
  } finally {
    await client.end();
  }
  const page = await readFile(resolve(import.meta.dirname, '../../docs/operations/search.md'), 'utf8');
  const names = [...(await scrape('search')).matchAll(/^# TYPE (search_\S+)/gm)].map(([, name = '']) => name);
  expect({ some: names.length > 6, untold: names.filter((name) => !page.includes(`\`${name}\``)) }).toEqual({
    some: true,
    untold: [],
  });
});

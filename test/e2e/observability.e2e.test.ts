import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SERVICES, type ServiceName } from '@kr/local-stack';
import { freePort } from '@kr/local-stack/backends';
import { type OtlpCollector, type SentSpan, startOtlpCollector, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { Client } from 'pg';
import { parse } from 'yaml';
import { metricsTable } from './observed/metrics-page.ts';
import { readPromql } from './observed/promql.ts';
import { type ScrapedMetric, scrapedMetrics } from './observed/scraped-metrics.ts';
import { type SpanTree, spanTree } from './observed/span-tree.ts';
import type { Entity, FileEntry } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type HttpClient, oneTryClient } from './story/http-client.ts';
import { adminCommand } from './story/operator-command.ts';
import { insistentClient } from './story/persistent-client.ts';
import { link, packageOfResources, upload } from './story/stories.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const OBSERVABILITY = 'deploy/helm/knowledge-repository/observability';
const PATIENT = { timeoutMs: 90_000, everyMs: 200 };
const PUBLISH_PACKAGE = 'gateway: POST /api/packages/:id/draft/actions/publish';
const PUBLISH_RECORD = 'gateway: POST /api/records/:id/draft/actions/publish';

let system: TestSystem;
let collector: OtlpCollector;
let author: HttpClient;
let ports: Map<ServiceName, number>;

beforeAll(async () => {
  collector = await startOtlpCollector();
  ports = new Map();
  for (const service of SERVICES) ports.set(service, await freePort());
  system = await startSystem({
    logLevel: 'info',
    settings: { publishReachMs: 3_000 },
    proxied: ['records to nats'],
    // No server listens there; only the metrics of registration are read.
    environment: {
      DATACITE_URL: 'http://127.0.0.1:9',
      DATACITE_REPOSITORY: 'EXAMPLE.REPOSITORY',
      DATACITE_PASSWORD: 'unused',
    },
    environmentOf: async (service, given) => ({
      ...given,
      ...collector.environment,
      OTEL_METRICS_EXPORTER: 'prometheus',
      OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
      OTEL_EXPORTER_PROMETHEUS_PORT: String(ports.get(service)),
    }),
  });
  author = insistentClient(oneTryClient(system.baseUrl, system.token));
});
afterAll(async () => {
  await system?.stop();
  await collector?.stop();
});

const newRecord = (title: string, withFiles = false) =>
  author.sure<Entity>('POST', '/records', { json: recordDocument(title, { withFiles }) });
const publish = (draft: Entity) => author.call('POST', link(draft, 'publish'), { timeoutMs: 120_000 });

/** Where a machine under load could not decide in time, another draft is published, whose trace is of one request too. */
const decided = (newDraft: () => Promise<Entity>) =>
  until(async () => {
    const draft = await newDraft();
    const { status } = await publish(draft);
    return status === 503 ? undefined : { draft, status };
  }, PATIENT);

/** The received part of the trace that began with the publication of this entity. */
function traceOf({ id }: Entity): SpanTree {
  const spans = collector.spans();
  const root = spans.find(
    ({ parentSpanId, attributes }) =>
      parentSpanId === '' && String(attributes['url.path']).endsWith(`/${id}/draft/actions/publish`),
  );
  return spanTree(spans.filter(({ traceId }) => traceId === root?.traceId));
}

const sends = ({ spans }: SpanTree) => spans.filter(({ kind }) => kind === 'producer');
/** The handling of an event by the index, as a child of its sending or linked to it. */
const isIndexed =
  ({ spans }: SpanTree) =>
  (sent: SentSpan) =>
    spans.some(
      ({ name, parentSpanId, links }) =>
        name === 'consume search-index' &&
        (parentSpanId === sent.spanId || links.some(({ spanId }) => spanId === sent.spanId)),
    );

describe('the trace of a publication', () => {
  test('is one, from the request over calls, statements and events to the index', async () => {
    const { draft: main, status } = await decided(async () => {
      const made = await packageOfResources(author, 'Traced', 2);
      // A batch of the index is complete in one trace only.
      await untilIndexed();
      return made.main;
    });
    expect(status).toBe(202);
    const tree = await until(() => {
      const found = traceOf(main);
      const isWhole = sends(found).length === 3 && sends(found).every(isIndexed(found));
      const isWritten = found.has('search: consume search-index', 'search: insert index_document');
      return isWhole && isWritten && found.orphans.length === 0 ? found : undefined;
    }, PATIENT);

    const publishing = [
      PUBLISH_PACKAGE,
      'gateway: knowledge.packages.v1.PublicationsService/Publish',
      'packages: knowledge.packages.v1.PublicationsService/Publish',
    ] as const;
    const called = (service: string, method: string) => [
      ...publishing,
      `packages: ${method}`,
      `${service}: ${method}`,
    ];
    const seal = called('files', 'knowledge.files.v1.FilesService/SealBuckets');
    const prepare = called('records', 'knowledge.records.v1.RecordsService/PreparePublication');
    const decide = called('records', 'knowledge.records.v1.RecordsService/ApplyDecisionToRecords');
    const expected: readonly (readonly string[])[] = [
      [...seal, 'files: update bucket'],
      [...prepare, 'records: update draft'],
      [...publishing, 'packages: update publication'],
      [...decide, 'records: update version'],
      [
        ...called('files', 'knowledge.files.v1.FilesService/ApplyDecisionToBuckets'),
        'files: update participant',
      ],
      [...publishing, 'packages: send knowledge.packages.package.published'],
      [...decide, 'records: send knowledge.records.record.published'],
      [...publishing, 'search: consume search-index', 'search: insert index_document'],
    ];
    expect(expected.filter((path) => !tree.has(...path))).toEqual([]);
    expect(tree.spans.filter(({ parentSpanId }) => parentSpanId === '')).toHaveLength(1);
    expect(new Set(tree.spans.map(({ service }) => service))).toEqual(
      new Set(['gateway', 'packages', 'records', 'files', 'search']),
    );
    expect(tree.spans.filter(({ isError }) => isError).map(tree.pathOf)).toEqual([]);
    const ofIndex = tree.spans.filter(({ name }) => name === 'consume search-index');
    expect(new Set(ofIndex.map(({ kind }) => kind))).toEqual(new Set(['consumer']));
  });

  test('shows neither values of statements nor tokens', async () => {
    const secret = 'token-that-nobody-is-told';
    await author.call('GET', `/packages/aaaaa-aaaaa/versions?token=${secret}`);
    await until(
      () => collector.spans().some(({ name }) => name === 'GET /api/packages/:id/versions'),
      PATIENT,
    );
    const told = collector.spans().map((span) => JSON.stringify(span));
    expect(told.some((text) => text.includes('$1'))).toBe(true);
    expect(told.filter((text) => [secret, system.token, 'Traced'].some((one) => text.includes(one)))).toEqual(
      [],
    );
  });

  test('marks what failed all the way up, and not what was refused', async () => {
    const { draft: wrong, status } = await decided(() => newRecord('ab'));
    expect(status).toBe(400);
    const refused = await until(() => {
      const found = traceOf(wrong);
      const isWhole = found.has(
        PUBLISH_RECORD,
        'packages: knowledge.packages.v1.PublicationsService/Publish',
      );
      return isWhole && found.orphans.length === 0 ? found : undefined;
    }, PATIENT);
    expect(refused.spans.filter(({ isError }) => isError).map(refused.pathOf)).toEqual([]);

    const draft = await newRecord('Without files');
    const blocking = new Client({ connectionString: system.databaseUrls.files });
    await blocking.connect();
    await blocking.query('begin');
    await blocking.query('lock table bucket in access exclusive mode');
    expect((await publish(draft)).status).toBe(503);
    await blocking.end();
    const failed = [
      PUBLISH_RECORD,
      'gateway: knowledge.packages.v1.PublicationsService/Publish',
      'packages: knowledge.packages.v1.PublicationsService/Publish',
      'packages: knowledge.files.v1.FilesService/SealBuckets',
    ];
    await until(() => {
      const { spans } = traceOf(draft);
      const errors = spans.filter(({ isError }) => isError).map(({ service, name }) => `${service}: ${name}`);
      return failed.every((span) => errors.includes(span));
    }, PATIENT);
  });

  test('is named by the log lines of its requests', async () => {
    const { draft, status } = await decided(() => newRecord('Logged'));
    expect(status).toBe(202);
    const { traceId } = await until(
      () => traceOf(draft).spans.find(({ parentSpanId }) => parentSpanId === ''),
      PATIENT,
    );
    const logged = await until(async () => {
      const lines = (await readFile(join(system.logDir, 'gateway.log'), 'utf8')).split('\n');
      return lines.find((line) => line.includes(`/${draft.id}/draft/actions/publish`));
    }, PATIENT);
    expect(JSON.parse(logged)).toMatchObject({ msg: 'request', trace_id: traceId });
  });

  test('goes on when another process sends the event later', async () => {
    let heal = () => {};
    let draft: Entity;
    try {
      const published = await decided(async () => {
        heal();
        const made = await newRecord('Sent later');
        await until(async () => (await sampled('records', 'outbox_unsent_events')) === 0, PATIENT);
        heal = system.proxy('records to nats').inflict({ kind: 'black hole' });
        return made;
      });
      expect(published.status).toBe(202);
      draft = published.draft;
      const told = 'records: knowledge.records.v1.RecordsService/ApplyDecisionToRecords';
      await until(() => traceOf(draft).has(PUBLISH_RECORD, told), PATIENT);
      await system.relaunch('records');
      expect(sends(traceOf(draft))).toEqual([]);
    } finally {
      heal();
    }
    const tree = await until(() => {
      const found = traceOf(draft);
      return sends(found).some(isIndexed(found)) ? found : undefined;
    }, PATIENT);
    expect(
      tree.has(
        PUBLISH_RECORD,
        'records: send knowledge.records.record.published',
        'search: consume search-index',
      ),
    ).toBe(true);
  });
});

async function scrape(service: ServiceName): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${ports.get(service)}/metrics`);
  if (!answer.ok) throw new Error(`${service} answered ${answer.status}`);
  return answer.text();
}

async function untilIndexed(): Promise<void> {
  const writers = ['records', 'packages', 'files', 'access-links'] as const;
  await until(async () => {
    const unsent = await Promise.all(writers.map((service) => sampled(service, 'outbox_unsent_events')));
    return unsent.every((count) => count === 0) && (await sampled('search', 'search_events_pending')) === 0;
  }, PATIENT);
}

async function sampled(service: ServiceName, metric: string): Promise<number | undefined> {
  const line = new RegExp(`^${metric}(?:\\{.*\\})? (\\S+)`, 'm').exec(await scrape(service));
  return line === null ? undefined : Number(line[1]);
}

describe('the metrics', () => {
  let metrics: ScrapedMetric[];

  beforeAll(async () => {
    await useEverything();
    metrics = scrapedMetrics(
      new Map(await Promise.all(SERVICES.map(async (service) => [service, await scrape(service)] as const))),
    );
  });

  test('are those of docs/metrics.md, with their labels', async () => {
    const page = join(ROOT, 'docs/metrics.md');
    const text = await readFile(page, 'utf8');
    const head = text.slice(0, text.indexOf('| metric |'));
    const written = `${head}${metricsTable(metrics, text)}\n`;
    if (process.env['WRITE_METRICS_PAGE'] !== undefined) await writeFile(page, written);
    expect(await readFile(page, 'utf8')).toBe(written);
  });

  test('label requests by their routes, of which there are few', async () => {
    for (const id of ['aaaaa-aaaaa', 'bbbbb-bbbbb', 'x%00y']) await author.call('GET', `/records/${id}`);
    await author.call('GET', '/no/such/path');
    const text = await scrape('gateway');
    const routes = new Set([...text.matchAll(/route="([^"]*)"/g)].map(([, route]) => route));
    expect(routes).toContain('/api/records/:id');
    expect(routes).toContain('other');
    expect([...routes].filter((route) => /aaaaa|such/.test(route ?? ''))).toEqual([]);
  });

  test.each([
    ['alerts', 'alerts.yaml', expressionsOfAlerts],
    ['panels of the dashboard', 'dashboard.json', expressionsOfDashboard],
  ])('are the ones queried by the %s, in valid PromQL', async (_name, file, expressionsOf) => {
    const expressions = expressionsOf(await readFile(join(ROOT, OBSERVABILITY, file), 'utf8'));
    expect(expressions.length).toBeGreaterThan(15);
    expect(expressions.flatMap((expression) => faultsOf(expression, metrics))).toEqual([]);
  });

  test('are rejected where a name, a label or the grammar is wrong', () => {
    const wrong = (expression: string) => faultsOf(expression, metrics).length;
    expect([
      wrong('sum by (job) (rate(publications_aborted_total[5m])) > 0'),
      wrong('sum(rate(publications_abortet_total[5m]))'),
      wrong('publications_open{stat="ABORTED"}'),
      wrong('sum by (stat) (publications_open)'),
      wrong('sum by (job (publications_open)'),
    ]).toEqual([0, 1, 1, 1, 1]);
  });
});

/** Some values of every metric, beyond those of earlier tests. */
async function useEverything(): Promise<void> {
  const draft = await newRecord('With files', true);
  await upload(author, draft, 'data.bin', Buffer.alloc(100_000));
  const entry = await author.sure<FileEntry>('GET', `${link(draft, 'files')}/data.bin`);
  await author.call('GET', link(entry, 'content'));
  await author.sure('POST', `/records/${draft.id}/access/links`, { json: { permission: 'view' } });
  await author.sure('GET', '/search?q=traced');
  // The search service may still be reconnecting to a restarted service.
  await until(async () => (await adminCommand(system, 'search', 'drift')).code === 0, PATIENT);
  await adminCommand(system, 'files', 'verify', '--now');
  const client = new Client({ connectionString: system.databaseUrls.packages });
  await client.connect();
  await client.query(
    `insert into dead_letter (consumer, event_id, subject, payload, headers, deliveries, reason)
     values ('packages-follow-links', 'e', 'knowledge.access-links.link.changed', '', '{}', 1, 'broken')`,
  );
  await client.end();
  await until(async () => (await sampled('search', 'search_drift_age_seconds')) !== undefined, PATIENT);
  await until(async () => (await sampled('files', 'files_fixity_check_age_seconds')) !== undefined, PATIENT);
  await until(async () => (await sampled('search', 'event_consumer_pending')) === 0, PATIENT);
}

function expressionsOfAlerts(text: string): string[] {
  const { groups } = parse(text) as { groups: { rules: { expr: string }[] }[] };
  return groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
}

function expressionsOfDashboard(text: string): string[] {
  const { panels } = JSON.parse(text) as { panels: { targets?: { expr: string }[] }[] };
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** Of a target, set by the scraper. */
const OF_A_TARGET = ['job', 'instance', 'namespace', 'pod'];
/** Prometheus reports for each target whether it could be scraped. */
const UP: ScrapedMetric = { name: 'up', type: 'gauge', description: '', labels: [], services: [] };

function faultsOf(expression: string, metrics: readonly ScrapedMetric[]): string[] {
  const { mistakes, selectors, grouping } = readPromql(expression);
  const known = new Map(
    [UP, ...metrics].flatMap((metric) => samplesOf(metric).map((name) => [name, metric])),
  );
  const labelsOf = (metric: string) => ['le', ...OF_A_TARGET, ...(known.get(metric)?.labels ?? [])];
  const asked = selectors.map(({ metric }) => metric);
  const faults = [
    ...mistakes,
    ...asked.filter((metric) => !known.has(metric)),
    ...selectors.flatMap(({ metric, labels }) => labels.filter((label) => !labelsOf(metric).includes(label))),
    ...grouping.filter((label) => !asked.some((metric) => labelsOf(metric).includes(label))),
  ];
  return [...new Set(faults)].map((fault) => `${fault} in ${expression}`);
}

function samplesOf({ name, type }: ScrapedMetric): string[] {
  return type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name];
}

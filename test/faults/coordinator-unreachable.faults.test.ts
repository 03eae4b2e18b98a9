import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity } from '../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, oneTryClient } from '../e2e/story/http-client.ts';
import { insistentClient } from '../e2e/story/persistent-client.ts';
import { link, packageOfResources, publishedRecord } from '../e2e/story/stories.ts';
import { holdDecisions } from './held-decisions.ts';
import { report } from './report.ts';
import { scaled } from './scale.ts';

const UNREACHABLE_MS = scaled(6_000, 30_000);

let system: TestSystem;
let author: HttpClient;
let anonymous: HttpClient;
beforeAll(async () => {
  system = await startSystem({
    proxied: ['records to packages', 'packages to records'],
    settings: { publishDeadlineMs: 600_000 },
  });
  author = insistentClient(oneTryClient(system.baseUrl, system.token));
  anonymous = oneTryClient(system.baseUrl);
});
afterAll(async () => {
  await system?.stop();
});

interface Sight {
  status: number;
  /** Whether it has `Retry-After`. */
  mayReturn: boolean;
}

/** Reads repeatedly until stopped; every different answer of each target is recorded. */
function watch(client: HttpClient, targets: readonly string[]) {
  const sights = new Map<string, Sight>();
  let isStopped = false;
  let reads = 0;
  const looking = targets.map(async (target) => {
    while (!isStopped) {
      const { status, headers } = await client.call('GET', target);
      const sight = { status, mayReturn: headers.has('retry-after') };
      sights.set(`${status} ${sight.mayReturn}`, sight);
      reads += 1;
      await sleep(50);
    }
  });
  return async () => {
    isStopped = true;
    await Promise.all(looking);
    return { reads, sights: [...sights.values()] };
  };
}

const UNKNOWN = [{ status: 503, mayReturn: true }];
const THERE = [{ status: 200, mayReturn: false }];

test('while the outcome of a publication is unknown its resources are neither there nor absent', async () => {
  const { main, resources } = await packageOfResources(author, 'Cut off', 3);
  const edited = await publishedRecord(author, 'Published before');
  await author.sure('POST', link(edited, 'draft'));
  await author.sure('PUT', `/records/${edited.id}/draft`, { json: recordDocument('Published again') });
  const bystander = await publishedRecord(author, 'Bystander');
  const loose = await author.sure<Entity>('POST', '/records', { json: recordDocument('Loose') });
  const along = [...resources, edited].map(({ id }) => id);

  const decisions = await holdDecisions(system.databaseUrls.packages);
  const publishing = [main, edited].map((one) =>
    author.call('POST', `${link(one, 'self').replace(/\/draft$/, '')}/draft/actions/publish`, {
      timeoutMs: 120_000,
    }),
  );
  // A lost vote would be a refusal.
  await until(async () => (await decisions.waiting()) === publishing.length, { what: 'the votes' });
  const heal = [
    system.proxy('records to packages').inflict({ kind: 'black hole' }),
    system.proxy('packages to records').inflict({ kind: 'black hole' }),
  ];

  const staged = watch(
    anonymous,
    along.map((id) => `/records/${id}`),
  );
  const drafts = watch(
    author,
    along.map((id) => `/records/${id}/draft`),
  );
  const others = watch(author, [`/records/${bystander.id}`, `/records/${loose.id}/draft`]);
  const undecided = (await anonymous.call('GET', `/packages/${main.id}`)).status;
  const locked = await author.call('PUT', `/records/${along[0]}/draft`, { json: recordDocument('Too late') });
  await decisions.letGo();
  const publications = await Promise.all(publishing);
  const decided = (await anonymous.call('GET', `/packages/${main.id}`)).status;
  await sleep(UNREACHABLE_MS);

  const sights = { staged: await staged(), drafts: await drafts(), others: await others() };
  expect({
    undecided,
    locked: [locked.status, locked.headers.has('retry-after')],
    publications: publications.map(({ status }) => status),
    decided,
    staged: sights.staged.sights,
    drafts: sights.drafts.sights,
    others: sights.others.sights,
  }).toEqual({
    undecided: 404,
    locked: [409, true],
    // The answer for the package shows the package; the one for the resource would show an unknown state.
    publications: [202, 503],
    decided: 200,
    staged: UNKNOWN,
    drafts: UNKNOWN,
    others: THERE,
  });

  const healedAt = performance.now();
  for (const end of heal) end();
  const statuses = () =>
    Promise.all(along.map(async (id) => (await anonymous.call('GET', `/records/${id}`)).status));
  await until(async () => (await statuses()).every((status) => status === 200), { what: 'the resources' });
  report(
    `unreachable for ${UNREACHABLE_MS} ms: ${sights.staged.reads} reads of staged resources, all 503; ` +
      `${sights.others.reads} of others, all 200; all there ${Math.round(performance.now() - healedAt)} ms after`,
  );
  const renewed = await anonymous.sure<Entity>('GET', `/records/${edited.id}`);
  expect(renewed.metadata['title']).toBe('Published again');
  expect((await author.call('GET', `/records/${along[0]}/draft`)).status).toBe(404);
});

test('a package that becomes restricted without the records service restricts its resources by the event', async () => {
  const { main, resources } = await packageOfResources(author, 'Closed', 2);
  const line = system.proxy('packages to records');
  const heal = line.inflict({ kind: 'refuse' });
  line.reset();
  const json = packageDocument('Closed', { access: { record: 'restricted', files: 'restricted' } });
  const { status } = await oneTryClient(system.baseUrl, system.token).call('PUT', link(main, 'self'), {
    json,
  });
  const closed = async () => {
    const drafts = resources.map(({ id }) => author.sure<Entity>('GET', `/records/${id}/draft`));
    return (await Promise.all(drafts)).every(({ access }) => access.record === 'restricted');
  };
  await until(closed, { what: 'the restriction' });
  heal();
  expect(status).toBe(503);
});
